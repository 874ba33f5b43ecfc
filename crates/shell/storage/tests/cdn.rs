//! Tests CDN invalidation, account and quotas: the requests, and the responses of moto if it is
//! installed.

#![allow(clippy::panic)] // Failing loudly is what tests are for.

mod scripted;

use everytab_patience::eventually;
use everytab_storage::{
    AccessKey, AwsSettings, StorageErrorKind,
    account::{caller, quota},
    cdn::invalidate,
};
use scripted::{Reply, Scripted};

fn settings(endpoint: String) -> AwsSettings {
    let access_key = AccessKey { id: "AK".to_owned(), secret: "SK".to_owned() };
    let region = Some("eu-central-1".to_owned());
    AwsSettings { endpoint: Some(endpoint), region, access_key: Some(access_key) }
}

const ACCEPTED: &str = "<Invalidation><Id>I2J0I21PCUYOIK</Id><Status>InProgress</Status>\
    <CreateTime>2026-01-01T00:00:00Z</CreateTime><InvalidationBatch><Paths><Quantity>1</Quantity>\
    </Paths><CallerReference>scan-7</CallerReference></InvalidationBatch></Invalidation>";

#[tokio::test]
async fn the_request_is_signed_and_names_paths_and_reference() {
    let server = Scripted::start(|before, _| match before {
        0 => Reply::new(503, ""),
        _ => Reply::new(201, ACCEPTED).header("Content-Type", "text/xml"),
    })
    .await;
    let paths = ["/index.html".to_owned(), "/a&b*".to_owned()];
    let id = invalidate("E2QWRUHAPOMQZL", &paths, "scan-7", &settings(server.url())).await;
    assert_eq!(id.expect("accepted at the second try"), "I2J0I21PCUYOIK");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for request in seen {
        assert_eq!(request.method, "POST");
        assert!(
            request.path.ends_with("/distribution/E2QWRUHAPOMQZL/invalidation"),
            "{}",
            request.path
        );
        let authorization = &request.headers["authorization"];
        assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=AK/"), "{authorization}");
        assert!(authorization.contains("/us-east-1/cloudfront/aws4_request"), "{authorization}");
        let body = String::from_utf8(request.body).expect("XML in UTF-8");
        for part in [
            "<Quantity>2</Quantity>",
            "<Path>/index.html</Path>",
            "<Path>/a&amp;b*</Path>",
            "<CallerReference>scan-7</CallerReference>",
        ] {
            assert!(body.contains(part), "{part} in {body}");
        }
    }
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    for (status, code, kind, remedy) in [
        (404, "NoSuchDistribution", StorageErrorKind::Invalid, "correct its ID"),
        (403, "AccessDenied", StorageErrorKind::Denied, "grant"),
        (400, "InvalidArgument", StorageErrorKind::Invalid, "InvalidArgument"),
        (400, "TooManyInvalidationsInProgress", StorageErrorKind::Unreachable, "minutes"),
    ] {
        let server = Scripted::start(move |_, _| {
            let body = format!("<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>");
            Reply::new(status, body).header("Content-Type", "text/xml")
        })
        .await;
        let error = invalidate("E1", &["/*".to_owned()], "r", &settings(server.url())).await;
        let error = error.expect_err("refused");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(remedy), "{error}");
        assert!(error.to_string().contains("distribution E1"), "{error}");
    }
}

#[tokio::test]
async fn invalid_arguments_are_rejected_before_a_request_is_sent() {
    let settings = settings("http://127.0.0.1:1".to_owned());
    for (id, path) in [("", "/*"), ("E1/../x", "/*"), ("E1", "index.html")] {
        let error = invalidate(id, &[path.to_owned()], "r", &settings).await.expect_err("refused");
        assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
    }
    invalidate("E1", &[], "r", &settings).await.expect_err("no path");
}

/// Runs against moto's CloudFront, if `moto_server` is in `EVERYTAB_MOTO_SERVER` or on the path.
#[tokio::test]
async fn moto_accepts_an_invalidation_and_rejects_another_distribution() {
    let program = std::env::var("EVERYTAB_MOTO_SERVER").unwrap_or("moto_server".to_owned());
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let port = free.local_addr().expect("a bound socket has an address").port().to_string();
    drop(free);
    let started = tokio::process::Command::new(&program)
        .args(["-H", "127.0.0.1", "-p", &port])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let Ok(mut moto) = started else {
        println!("skipped: {program} is not installed (pip install 'moto[server]')");
        return;
    };
    let endpoint = format!("http://127.0.0.1:{port}");
    let Some(distribution) = make_distribution(&endpoint, &mut moto).await else {
        println!("skipped: {program} ended immediately");
        return;
    };
    let settings = settings(endpoint);
    let paths = ["/*".to_owned()];
    let id = invalidate(&distribution, &paths, "scan-7", &settings).await.expect("accepted");
    assert!(!id.is_empty());
    let error = invalidate("E2QWRUHAPOMQZL", &paths, "scan-7", &settings).await;
    let error = error.expect_err("there is no such distribution");
    assert!(error.to_string().contains("no such distribution"), "{error}");
}

async fn make_distribution(endpoint: &str, moto: &mut tokio::process::Child) -> Option<String> {
    let config = "<DistributionConfig><CallerReference>r</CallerReference><Origins><Quantity>1\
        </Quantity><Items><Origin><Id>o</Id><DomainName>b.s3.amazonaws.com</DomainName>\
        <S3OriginConfig><OriginAccessIdentity>x</OriginAccessIdentity></S3OriginConfig></Origin>\
        </Items></Origins><DefaultCacheBehavior><TargetOriginId>o</TargetOriginId>\
        <ViewerProtocolPolicy>allow-all</ViewerProtocolPolicy></DefaultCacheBehavior>\
        <Comment>c</Comment><Enabled>true</Enabled></DistributionConfig>";
    // moto reads the service from the signature's scope and checks nothing else.
    let scope = "AWS4-HMAC-SHA256 Credential=AK/20260101/us-east-1/cloudfront/aws4_request, \
        SignedHeaders=host, Signature=0";
    let client = reqwest::Client::builder().no_proxy().build().expect("a plain client");
    eventually("moto", async || {
        let request = client
            .post(format!("{endpoint}/2020-05-31/distribution"))
            .header("Content-Type", "text/xml")
            .header("Authorization", scope)
            .body(config);
        if let Ok(response) = request.send().await {
            let body = response.text().await.expect("XML");
            let id = body.split_once("<Id>").and_then(|(_, rest)| rest.split_once("</Id>"));
            let id = id.unwrap_or_else(|| panic!("no distribution: {body}")).0.to_owned();
            return Some(Some(id));
        }
        moto.try_wait().expect("it is our child").is_some().then_some(None)
    })
    .await
}

#[tokio::test]
async fn an_account_and_its_quotas_are_requested() {
    let server = Scripted::start(|_, request| match request.headers.get("x-amz-target") {
        Some(_) => Reply::new(200, r#"{"Quota":{"QuotaCode":"L-34B43A08","Value":64.0}}"#),
        None => Reply::new(
            200,
            "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account>\
             </GetCallerIdentityResult></GetCallerIdentityResponse>",
        ),
    })
    .await;
    let settings = settings(server.url());
    let cores = quota("ec2", "L-34B43A08", &settings).await.expect("an answer");
    assert_eq!(cores.to_string(), "64");
    let caller = caller(&settings).await.expect("an answer");
    assert_eq!((&*caller.account, &*caller.region), ("123456789012", "eu-central-1"));
    let seen = server.seen();
    let scopes = ["/eu-central-1/servicequotas/aws4_request", "/eu-central-1/sts/aws4_request"];
    for (request, scope) in seen.iter().zip(scopes) {
        let authorization = &request.headers["authorization"];
        assert!(authorization.contains(scope), "{authorization}");
    }
    let body: serde_json::Value = serde_json::from_slice(&seen[0].body).expect("JSON");
    assert_eq!(body["QuotaCode"], "L-34B43A08");
    assert!(seen[0].headers["authorization"].contains("x-amz-target"));
}

#[tokio::test]
async fn account_errors_contain_a_remedy() {
    for (status, body, remedy) in [
        (400, r#"{"__type":"AccessDeniedException","Message":"no"}"#, "grant this key"),
        (400, r#"{"__type":"com.amazonaws#NoSuchResourceException","message":"?"}"#, "NoSuch"),
        (400, r#"{"__type":"UnrecognizedClientException"}"#, "unknown there"),
        (200, "<html>", "check the endpoint"),
        (200, r#"{"Quota":{}}"#, "check the endpoint"),
    ] {
        let server = Scripted::start(move |_, _| Reply::new(status, body)).await;
        let error = quota("ec2", "L-1", &settings(server.url())).await.expect_err("refused");
        assert!(error.to_string().contains(remedy), "{error}");
    }
}
