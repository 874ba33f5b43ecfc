//! Tests a site in S3 behind CloudFront, both mocked by moto.

use std::collections::BTreeMap;

use everytab_testbed::Mix;
use reqwest::header::HeaderMap;

use crate::{
    environment::{Database, Internet, Stores, internet},
    setup::{Running, answering, run, wait_for, worker},
};

pub(crate) const SITE: &str = "everytab-site";
/// Returns a signature for this service. moto reads the service from its scope, and checks nothing
/// else.
fn signed(service: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=AK/20260101/us-east-1/{service}/aws4_request, \
         SignedHeaders=host, Signature=0"
    )
}

pub(crate) struct Aws<'a> {
    internet: &'a Internet,
    pub(crate) client: reqwest::Client,
    moto: Running,
    pub(crate) endpoint: String,
    distribution: String,
}

impl<'a> Aws<'a> {
    /// Starts moto. `None` if it is not installed.
    pub(crate) fn start(internet: &'a Internet) -> Option<Self> {
        let program = std::env::var("EVERYTAB_MOTO_SERVER").unwrap_or("moto_server".to_owned());
        let mut command = std::process::Command::new(&program);
        if command.arg("--help").output().is_err() {
            println!("skipped: {program} is not installed (pip install 'moto[server]')");
            return None;
        }
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut command = std::process::Command::new(&program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let mut aws = Aws {
            internet,
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            moto: Running::start(command),
            endpoint: format!("http://127.0.0.1:{port}"),
            distribution: String::new(),
        };
        wait_for("moto", || {
            assert!(!aws.moto.has_ended(), "{}", aws.moto.stderr_text());
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        for bucket in [SITE, "everytab-archive"] {
            aws.request("s3", aws.client.put(format!("{}/{bucket}", aws.endpoint)));
        }
        let made = aws.cloudfront("", Some(DISTRIBUTION));
        aws.distribution = between(&made, "Id").remove(0);
        Some(aws)
    }

    /// Sends a request to a service, which must succeed. Returns the response's headers and body.
    pub(crate) fn request(
        &self,
        service: &str,
        request: reqwest::RequestBuilder,
    ) -> (HeaderMap, String) {
        let request = request.header("Authorization", signed(service));
        self.internet.runtime.block_on(async {
            let answer = request.send().await.unwrap().error_for_status().unwrap();
            (answer.headers().clone(), answer.text().await.unwrap())
        })
    }

    fn cloudfront(&self, path: &str, body: Option<&'static str>) -> String {
        let url = format!("{}/2020-05-31/distribution{path}", self.endpoint);
        let request = match body {
            Some(body) => self.client.post(url).header("Content-Type", "text/xml").body(body),
            None => self.client.get(url),
        };
        self.request("cloudfront", request).1
    }

    /// Returns the site's objects by name, each with its content type and cache-control header.
    fn objects(&self) -> BTreeMap<String, (String, String)> {
        let list = format!("{}/{SITE}?list-type=2", self.endpoint);
        let keys = between(&self.request("s3", self.client.get(list)).1, "Key");
        let header = |headers: &HeaderMap, name: &str| {
            headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
        };
        let looked = keys.into_iter().map(|key| {
            let url = format!("{}/{SITE}/{key}", self.endpoint);
            let (headers, _) = self.request("s3", self.client.head(url));
            let found = (header(&headers, "content-type"), header(&headers, "cache-control"));
            (key, found)
        });
        looked.collect()
    }

    /// Returns each invalidation's sorted paths, in the requests' order.
    fn invalidations(&self) -> Vec<Vec<String>> {
        let of = format!("/{}/invalidation", self.distribution);
        let ids = between(&self.cloudfront(&of, None), "Id");
        let paths = ids.iter().map(|id| {
            let mut paths = between(&self.cloudfront(&format!("{of}/{id}"), None), "Path");
            paths.sort();
            paths
        });
        paths.collect()
    }

    /// Returns the number of lines in moto's log, and the objects uploaded since the line `before`.
    fn uploaded_since(&self, before: usize) -> (usize, Vec<String>) {
        let said = self.moto.stderr_text();
        let lines: Vec<&str> = said.lines().collect();
        let path = |line: &&str| {
            let path = line.split_once(&format!("\"PUT /{SITE}/"))?.1;
            path.split(['?', ' ']).next().map(str::to_owned)
        };
        let mut keys: Vec<String> = lines[before..].iter().filter_map(path).collect();
        keys.sort();
        (lines.len(), keys)
    }
}

const DISTRIBUTION: &str = "<DistributionConfig><CallerReference>r</CallerReference><Origins>\
    <Quantity>1</Quantity><Items><Origin><Id>o</Id><DomainName>b.s3.amazonaws.com</DomainName>\
    <S3OriginConfig><OriginAccessIdentity>x</OriginAccessIdentity></S3OriginConfig></Origin>\
    </Items></Origins><DefaultCacheBehavior><TargetOriginId>o</TargetOriginId>\
    <ViewerProtocolPolicy>allow-all</ViewerProtocolPolicy></DefaultCacheBehavior>\
    <Comment>c</Comment><Enabled>true</Enabled></DistributionConfig>";

/// Returns the content of each element with this name. The elements must have no children.
pub(crate) fn between(xml: &str, name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let parts = xml.split(&open).skip(1);
    parts.filter_map(|part| part.split_once(&close)).map(|(text, _)| text.to_owned()).collect()
}

#[test]
fn a_site_in_s3_is_whole_and_publishing_it_again_uploads_only_what_has_changed() {
    let internet = internet(120, Mix::none());
    let Some(aws) = Aws::start(&internet) else { return };
    let folders = Stores::folders(&internet, internet.folder.path());
    let stores = Stores {
        archive: "s3://everytab-archive".to_owned(),
        site: format!("s3://{SITE}"),
        s3: Some(aws.endpoint.clone()),
        ..folders
    };
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &["--distribution", &aws.distribution]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);

    let objects = aws.objects();
    let year = "public, max-age=31536000, immutable";
    let minute = "public, max-age=60, must-revalidate";
    for (start, end, kind, keep) in [
        ("index", ".html", "text/html; charset=utf-8", minute),
        ("manifest", ".json", "application/json", minute),
        ("stats", ".json", "application/json", minute),
        ("js/", ".js", "text/javascript; charset=utf-8", year),
        ("css/", ".css", "text/css; charset=utf-8", year),
        ("scans/", "/tabs/0.json", "application/json", year),
        ("scans/", "/map/landmarks.tsv", "text/tab-separated-values; charset=utf-8", minute),
        ("t/", "/0.html", "text/html; charset=utf-8", minute),
    ] {
        let mut named = objects.iter().filter(|(k, _)| k.starts_with(start) && k.ends_with(end));
        let (key, found) = named.next().unwrap_or_else(|| panic!("{start}*{end}: {objects:?}"));
        assert_eq!(found, &(kind.to_owned(), keep.to_owned()), "{key}");
    }
    // Exactly the objects whose content may change under the same name are invalidated. No page
    // uses the scan's store token, only takedowns change landmarks, and link pages may be a minute
    // older than the manifest.
    let asked = aws.invalidations();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let changing: Vec<&String> = objects
        .iter()
        .filter(|(key, (_, keep))| keep != year && !key.starts_with(".everytab/"))
        .filter(|(key, _)| !key.ends_with("/map/landmarks.tsv"))
        .filter(|(key, _)| !key.starts_with("t/"))
        .map(|(key, _)| key)
        .collect();
    for key in changing.iter().copied().chain([&String::new()]) {
        assert!(asked[0].contains(&format!("/{key}")), "{key:?} in {asked:?}");
    }
    let ours = |path: &String| !path.contains('*') && !path.starts_with("/scans/");
    assert!(asked[0].iter().all(ours), "{asked:?}");

    let (before, first) = aws.uploaded_since(0);
    assert_eq!(first.len(), objects.len(), "each object must be uploaded once: {first:?}");
    run(database.owner(&["publish"])).expect_code(0);
    let (_, second) = aws.uploaded_since(before);
    assert_eq!(second, ["history.json", "manifest.json", "stats.json"]);
    let asked = aws.invalidations();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], asked[1]);
}

/// Maximum wildcard paths in progress for a distribution, over all requests ("Quotas" in the Amazon
/// CloudFront Developer Guide).
const MAX_WILDCARDS: usize = 15;

/// Returns whether an invalidation covers an object's path. An asterisk is valid only at the end.
fn is_forgotten(path: &str, asked: &[String]) -> bool {
    asked.iter().any(|asked| match asked.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path == asked,
    })
}

#[test]
fn a_takedown_invalidates_all_that_changed_under_its_name_and_the_map_by_one_path() {
    let internet = internet(120, Mix::none());
    let Some(aws) = Aws::start(&internet) else { return };
    let stores = Stores {
        site: format!("s3://{SITE}"),
        s3: Some(aws.endpoint.clone()),
        ..Stores::folders(&internet, internet.folder.path())
    };
    let database = Database::new(&internet, stores);
    database.start_scan(internet.crawl(), &["--entries-per-bundle", "3"]);
    run(database.worker(&["--exit-when-done"])).expect_code(0);
    let contents = || -> BTreeMap<String, String> {
        let read = |key: String| {
            let url = format!("{}/{SITE}/{key}", aws.endpoint);
            let (headers, _) = aws.request("s3", aws.client.head(url));
            (key, headers["etag"].to_str().unwrap().to_owned())
        };
        aws.objects().into_keys().map(read).collect()
    };
    let before = contents();
    let hosts = database
        .psql("select hostname from everytab.pages where title is not null order by 1 limit 3");
    let private = internet.folder.path().join("private").display().to_string();
    let mut command: Vec<&str> = vec!["takedown"];
    command.extend(hosts.lines());
    let site = format!("s3://{SITE}");
    command.extend(["--site", &site, "--private", &private]);
    command.extend(["--distribution", &aws.distribution]);
    run(database.owner(&command)).expect_code(0);
    let after = contents();
    let asked = aws.invalidations().concat();
    let mut changed: Vec<&String> =
        before.keys().filter(|key| after.get(*key) != before.get(*key)).collect();
    changed.sort();
    let is_tile = |key: &&&String| key.contains("/map/");
    assert!(changed.iter().filter(is_tile).count() > 1, "{changed:?}");
    for key in changed {
        assert!(is_forgotten(&format!("/{key}"), &asked), "{key} changed: {asked:?}");
    }
    let of_the_map: Vec<&str> =
        asked.iter().filter_map(|path| Some(path.split_once("/map/")?.1)).collect();
    assert_eq!(of_the_map, ["*", "landmarks.tsv"], "{asked:?}");
    let wildcards = asked.iter().filter(|path| path.contains('*'));
    assert!(wildcards.clone().all(|path| path.find('*') == Some(path.len() - 1)), "{asked:?}");
    assert!(wildcards.count() <= MAX_WILDCARDS, "{asked:?}");
}

/// moto responds to STS, but has no quotas, so another server replaces Service Quotas.
#[test]
fn doctor_names_the_account_and_the_quota_that_does_not_suffice() {
    let internet = internet(1, Mix::none());
    let Some(aws) = Aws::start(&internet) else { return };
    let quotas = answering(|| ("200 OK", r#"{"Quota":{"Value":5.0}}"#.to_owned()));
    let doctor = |more: &[&str], quotas: &str| {
        let mut command = worker(["doctor", "--aws", "--json", "--look-up", "localhost"]);
        command.args(more);
        command.env("AWS_ACCESS_KEY_ID", "AK").env("AWS_SECRET_ACCESS_KEY", "SK");
        command.env("AWS_REGION", "eu-central-1").env("AWS_ENDPOINT_URL", &aws.endpoint);
        command.env("AWS_ENDPOINT_URL_SERVICE_QUOTAS", quotas);
        let said = run(command).stdout;
        let lines: Vec<serde_json::Value> =
            said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        move |name: &str| {
            let line = lines.iter().find(|line| line["check"] == name);
            line.unwrap_or_else(|| panic!("no {name}: {said}")).clone()
        }
    };
    let found = doctor(&["--workers", "3"], &quotas);
    assert_eq!(found("account")["found"], "123456789012 in eu-central-1");
    // Two spot instances with two cores each. One worker and the console are on demand.
    assert_eq!(found("spot cores")["found"], "4 of 5 (quota L-34B43A08)");
    assert_eq!(found("on-demand cores")["ok"], true);
    let found = doctor(&["--workers", "4", "--instance", "c7i.2xlarge"], &quotas);
    let said = found("spot cores");
    assert_eq!(said["ok"], false);
    assert!(
        said["found"].as_str().unwrap().contains("needs 24, but the account may run 5"),
        "{said}"
    );
    assert!(said["remedy"].as_str().unwrap().contains("fewer workers"), "{said}");
    let found = doctor(&[], &aws.endpoint);
    let said = found("spot cores");
    assert!(said["found"].as_str().unwrap().contains("NoSuchResource"), "{said}");
}
