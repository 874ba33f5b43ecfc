//! Tests the server with a real client.

use axum::http::HeaderName;
use everytab_bundler::object_names;
use reqwest::{Client, redirect::Policy};

use super::*;

struct Site {
    url: String,
    address: SocketAddr,
    folder: tempfile::TempDir,
    client: Client,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    finished: Option<JoinHandle<()>>,
}

async fn site() -> Site {
    let folder = tempfile::TempDir::new().expect("the temporary directory can be written");
    let root = folder.path().join("site");
    let write = |name: &str, bytes: &[u8]| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("mkdir");
        std::fs::write(path, bytes).expect("write");
    };
    write("index.html", b"<!doctype html>");
    write("manifest.json", b"{}");
    write("scans/7/tabs/0.json", b"{\"entries\":[]}");
    write("js/app-0123abcd.js", b"1");
    write(".everytab-store/lock-00", b"");
    write(".well-known/http-message-signatures-directory", b"{}");
    write(".well-known/.hidden", b"secret");
    write("large.bin", &vec![7; 3_000_000]);
    std::fs::write(folder.path().join("secret"), b"secret").expect("write");
    std::os::unix::fs::symlink(folder.path(), root.join("out")).expect("link");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let serving = serve(root, any, async move { drop(stopped.await) }).await.expect("serve");
    let client = Client::builder().no_proxy().redirect(Policy::none()).build();
    Site {
        url: format!("http://{}", serving.address),
        address: serving.address,
        folder,
        client: client.expect("nothing is configured wrongly"),
        stop: Some(stop),
        finished: Some(serving.finished),
    }
}

impl Site {
    async fn get(&self, path: &str) -> reqwest::Response {
        let sent = self.client.get(format!("{}{path}", self.url)).send().await;
        sent.expect("the server answers")
    }

    /// Returns the status line for a path that a normal client would not send.
    async fn raw(&self, path: &str) -> String {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut socket = tokio::net::TcpStream::connect(self.address).await.expect("connect");
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.expect("write");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).await.expect("read");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(!answer.contains("secret"), "{answer}");
        answer.lines().next().unwrap_or_default().to_owned()
    }
}

fn header_of(response: &reqwest::Response, name: HeaderName) -> String {
    response.headers().get(name).map_or("", |value| value.to_str().expect("ASCII")).to_owned()
}

#[tokio::test]
async fn files_carry_their_type_cache_and_policy() {
    let site = site().await;
    for (path, content_type, cache) in [
        ("/", "text/html; charset=utf-8", object_names::CACHE_SHORT),
        ("/index.html?x=1", "text/html; charset=utf-8", object_names::CACHE_SHORT),
        ("/manifest.json", "application/json", object_names::CACHE_SHORT),
        ("/scans/7/tabs/0.json", "application/json", object_names::CACHE_IMMUTABLE),
        ("/js/app-0123abcd.js", "text/javascript; charset=utf-8", object_names::CACHE_IMMUTABLE),
    ] {
        let response = site.get(path).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(header_of(&response, header::CONTENT_TYPE), content_type, "{path}");
        assert_eq!(header_of(&response, header::CACHE_CONTROL), cache, "{path}");
        assert_eq!(header_of(&response, header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        let shared: BTreeMap<String, String> = serde_json::from_str(HEADERS).expect("JSON");
        assert!(shared["content-security-policy"].starts_with("default-src 'none';"));
        for (name, value) in shared {
            assert_eq!(response.headers()[name.as_str()], value.as_str(), "{path} {name}");
        }
    }
    assert_eq!(
        site.get("/scans/7/tabs/0.json").await.text().await.expect("text"),
        "{\"entries\":[]}"
    );
    let large = site.get("/large.bin").await;
    assert_eq!(large.content_length(), Some(3_000_000));
    assert_eq!(large.bytes().await.expect("whole").len(), 3_000_000);
}

#[tokio::test]
async fn an_unchanged_file_is_not_sent_again() {
    let site = site().await;
    for path in ["/manifest.json", "/large.bin"] {
        let etag = header_of(&site.get(path).await, header::ETAG);
        let again = |known: String| {
            let url = format!("{}{path}", site.url);
            site.client.get(url).header(header::IF_NONE_MATCH, known).send()
        };
        for known in [etag.clone(), format!("W/{etag}"), format!("\"x\", {etag}"), "*".into()] {
            let response = again(known).await.expect("the server answers");
            assert_eq!(response.status(), 304);
            assert_eq!(header_of(&response, header::ETAG), etag);
            assert!(response.bytes().await.expect("nothing").is_empty());
        }
        let file = site.folder.path().join("site").join(&path[1..]);
        std::fs::write(&file, vec![8; 2_999_999]).expect("write");
        let response = again(etag.clone()).await.expect("the server answers");
        assert_eq!(response.status(), 200, "a changed file is sent");
        assert_ne!(header_of(&response, header::ETAG), etag);
    }
}

#[tokio::test]
async fn head_returns_the_length_and_other_methods_are_rejected() {
    let site = site().await;
    let url = format!("{}/large.bin", site.url);
    let head = site.client.head(&url).send().await.expect("the server answers");
    assert_eq!(header_of(&head, header::CONTENT_LENGTH), "3000000");
    assert!(head.bytes().await.expect("nothing").is_empty());
    let post = site.client.post(&url).send().await.expect("the server answers");
    assert_eq!(
        (post.status().as_u16(), header_of(&post, header::ALLOW).as_str()),
        (405, "GET,HEAD")
    );
}

#[tokio::test]
async fn the_key_directory_is_served_with_the_type_of_its_protocol() {
    let site = site().await;
    let response = site.get("/.well-known/http-message-signatures-directory").await;
    assert_eq!(response.status(), StatusCode::OK);
    let directory = "application/http-message-signatures-directory+json";
    assert_eq!(header_of(&response, header::CONTENT_TYPE), directory);
}

#[tokio::test]
async fn nothing_outside_the_directory_is_served() {
    let site = site().await;
    for path in [
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/js/../../secret",
        "//etc/passwd",
        "/out/secret",
        "/out",
        "/.everytab-store/lock-00",
        "/%2eeverytab-store/lock-00",
        "/.well-known/.hidden",
        "/.well-known",
        "/js/.well-known/x",
        "/js",
        "/js/",
        "/index.html/",
        "/index.html%00",
        "/nothing",
        "/%",
        "/%zz",
        "/%ff",
        "/js//x",
    ] {
        assert_eq!(site.raw(path).await, "HTTP/1.1 404 Not Found", "{path}");
    }
}

#[tokio::test]
async fn the_server_stops_at_shutdown_and_its_errors_name_the_directory_or_address() {
    let mut site = site().await;
    let taken = serve(site.folder.path().to_owned(), site.address, async {}).await;
    let message = taken.expect_err("the address is taken").to_string();
    assert!(message.contains(&site.address.to_string()), "{message}");
    let missing = site.folder.path().join("missing");
    let message = serve(missing, site.address, async {}).await.expect_err("missing").to_string();
    assert!(message.contains("missing"), "{message}");
    drop(site.stop.take());
    let finished = site.finished.take().expect("taken once");
    finished.await.expect("it ended well");
    assert!(tokio::net::TcpStream::connect(site.address).await.is_err());
}

#[tokio::test]
async fn text_is_compressed_for_clients_that_accept_it() {
    let site = site().await;
    let text = "a tab ".repeat(1_000);
    std::fs::write(site.folder.path().join("site/long.json"), &text).expect("write");
    let url = format!("{}/long.json", site.url);
    let ask = |coding: &'static str| {
        let request = site.client.get(&url).header(header::ACCEPT_ENCODING, coding);
        async move { request.send().await.expect("the server answers") }
    };
    let plain = ask("identity").await;
    assert_eq!(header_of(&plain, header::CONTENT_ENCODING), "");
    assert_eq!(header_of(&plain, header::VARY), "accept-encoding");
    let packed = ask("gzip, br").await;
    assert_eq!(header_of(&packed, header::CONTENT_ENCODING), "gzip");
    let (strong, weak) = (header_of(&plain, header::ETAG), header_of(&packed, header::ETAG));
    assert_eq!(weak, format!("W/{strong}"));
    let bytes = packed.bytes().await.expect("whole");
    for coding in ["", "gzip;q=0, *", "br"] {
        assert_eq!(header_of(&ask(coding).await, header::CONTENT_ENCODING), "", "{coding}");
    }
    assert!(bytes.len() < 200, "{}", bytes.len());
    let mut unpacked = String::new();
    let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
    std::io::Read::read_to_string(&mut decoder, &mut unpacked).expect("gzip");
    assert_eq!(unpacked, text);
    let known = site.client.get(&url).header(header::IF_NONE_MATCH, weak).send().await;
    assert_eq!(known.expect("the server answers").status(), 304);
    let refusing = site.client.get(&url).header(header::ACCEPT_ENCODING, "identity;q=0");
    let refused = refusing.send().await.expect("the server answers");
    assert_eq!(refused.status(), 406);
    assert_eq!(header_of(&refused, header::CACHE_CONTROL), "no-store");
}

#[tokio::test]
async fn ranges_of_any_file_are_served() {
    let site = site().await;
    let url = format!("{}/large.bin", site.url);
    let request = site.client.get(&url).header(header::RANGE, "bytes=2999990-");
    let piece = request.send().await.expect("the server answers");
    assert_eq!(piece.status(), 206);
    assert_eq!(header_of(&piece, header::CONTENT_RANGE), "bytes 2999990-2999999/3000000");
    assert_eq!(piece.bytes().await.expect("whole").len(), 10);
    let request = site.client.get(&url).header(header::RANGE, "bytes=-7");
    let last = request.send().await.expect("the server answers");
    assert_eq!(header_of(&last, header::CONTENT_RANGE), "bytes 2999993-2999999/3000000");
    // The client's piece may belong to another version, or the range is not supported.
    for (name, value) in [
        (header::IF_RANGE, "\"old\""),
        (header::RANGE, "bytes=0-1,5-6"),
        (header::RANGE, "lines=0-1"),
    ] {
        let request = site.client.get(&url).header(header::RANGE, "bytes=0-9");
        let mut request = request.build().expect("a request");
        request.headers_mut().insert(name, value.parse().expect("a header"));
        let whole = site.client.execute(request).await.expect("the server answers");
        assert_eq!((whole.status().as_u16(), whole.content_length()), (200, Some(3_000_000)));
    }
    let request = site.client.get(&url).header(header::RANGE, "bytes=3000000-");
    let beyond = request.send().await.expect("the server answers");
    assert_eq!(beyond.status(), 416);
    assert_eq!(header_of(&beyond, header::CACHE_CONTROL), "no-store");
    assert_eq!(header_of(&beyond, header::CONTENT_RANGE), "bytes */3000000");
}

#[tokio::test]
async fn a_missing_object_gets_the_sites_own_error_page() {
    let site = site().await;
    std::fs::write(site.folder.path().join("site/404.html"), "<p>gone").expect("write");
    let gone = site.get("/scans/none.json").await;
    assert_eq!(gone.status(), 404);
    assert_eq!(header_of(&gone, header::CONTENT_TYPE), "text/html; charset=utf-8");
    assert_eq!(gone.text().await.expect("text"), "<p>gone");
}

#[tokio::test]
async fn a_reserved_address_is_taken_and_refuses_connections_until_it_is_served() {
    let here = SocketAddr::from(([127, 0, 0, 1], 0));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "page").unwrap();
    let reserved = ReservedAddress::new(here).unwrap();
    let address = reserved.address;
    let refused = tokio::net::TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let serving = serve_on(folder.path().to_owned(), reserved, std::future::pending()).await;
    assert_eq!(serving.unwrap().address, address);
    tokio::net::TcpStream::connect(address).await.unwrap();
    assert!(matches!(ReservedAddress::new(address), Err(ServeError::Listen { .. })));
}
