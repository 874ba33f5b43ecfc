//! `inspect warc` and `inspect page`: print the data extracted from home pages.

use std::{collections::BTreeMap, io, path::PathBuf};

use everytab_commoncrawl::warc::{Limits, Record, RecordType, Records, Truncation, WarcError};
use everytab_webpage::{IconLink, Page, TitleState, Verdict, understand};
use serde::Serialize;
use url::Url;

use super::{
    files::{MAX_FILE_BYTES, MAX_SMALL_FILE_BYTES, read_file, read_unpacked},
    lines::Lines,
};

/// The framing rule for content that is not HTML.
const NOT_HTML: &str = "not_html";

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct PageLine {
    offset: Option<u64>,
    url: Option<String>,
    status: Option<u16>,
    title: Option<String>,
    charset: Option<String>,
    frameable: Option<bool>,
    icons: Option<Vec<IconLine>>,
    error: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct IconLine {
    href: String,
    rel: String,
    r#type: Option<String>,
    sizes: Option<String>,
}

impl From<IconLink> for IconLine {
    fn from(link: IconLink) -> Self {
        Self { href: link.href, rel: link.rel, r#type: link.mime, sizes: link.sizes }
    }
}

impl PageLine {
    fn error(error: String) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    fn with_page(mut self, page: Page) -> Self {
        let has_title = page.title.state != TitleState::Absent;
        self.frameable =
            (page.framing.verdict != Verdict::Unknown).then(|| page.framing.frameable(None));
        self.title = has_title.then_some(page.title.text);
        self.charset = Some(page.charset);
        self.icons = Some(page.icons.into_iter().map(IconLine::from).collect());
        self
    }
}

pub(super) fn print_archives(files: &[PathBuf], lines: &mut Lines) -> io::Result<()> {
    let mut skipped = BTreeMap::new();
    for path in files {
        let archive = match read_file(path, MAX_FILE_BYTES) {
            Ok(archive) => archive,
            Err(error) => {
                lines.fail(&PageLine::error(format!("{}: {error}", path.display())))?;
                continue;
            }
        };
        let (mut readable, mut errors) = (0_u64, 0_u64);
        for (offset, record) in Records::new(&archive, Limits::default()) {
            match &record {
                Ok(_) => readable += 1,
                Err(_) => errors += 1,
            }
            match line(offset, record) {
                Ok(line) => lines.print(&line)?,
                Err(kind) => *skipped.entry(kind).or_insert(0_u64) += 1,
            }
        }
        if readable + errors == 0 {
            lines.fail(&PageLine::error(format!("{}: it has no records", path.display())))?;
        }
        lines.has_failed |= readable == 0;
    }
    if !skipped.is_empty() {
        let counts: Vec<String> =
            skipped.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        eprintln!("skipped records that are not responses: {}", counts.join(", "));
    }
    Ok(())
}

/// Returns the line for a response or an unreadable record. The error is the kind of another
/// record.
fn line(offset: u64, record: Result<Record, WarcError>) -> Result<PageLine, String> {
    let at = PageLine { offset: Some(offset), ..PageLine::default() };
    let record = match record {
        Ok(record) if record.record_type == RecordType::Response => record,
        Ok(record) => return Err(kind(&record.record_type)),
        Err(error) => return Ok(PageLine { error: Some(error.to_string()), ..at }),
    };
    let is_short = record.truncation == Some(Truncation::DataEnd);
    let error = is_short.then(|| "the file ends in the middle of a record".to_owned());
    let url = record.target_uri();
    let response = match record.http_response() {
        Ok(response) => response,
        Err(error) => return Ok(PageLine { url, error: Some(error.to_string()), ..at }),
    };
    let page = understand(url.as_deref().unwrap_or(""), response.headers.fields(), &response.body);
    let line = PageLine { url, status: Some(response.status), error, ..at };
    Ok(if page.framing.rule == NOT_HTML { line } else { line.with_page(page) })
}

fn kind(record_type: &RecordType) -> String {
    match record_type {
        RecordType::Other(name) if name.is_empty() => "without a type".into(),
        RecordType::Other(name) => name.escape_debug().take(40).collect(),
        known => format!("{known:?}").to_lowercase(),
    }
}

pub(super) fn print_pages(files: &[PathBuf], url: &Url, lines: &mut Lines) -> io::Result<()> {
    for path in files {
        match read_unpacked(path, MAX_SMALL_FILE_BYTES) {
            Ok(body) => {
                let line = PageLine { url: Some(url.to_string()), ..PageLine::default() };
                // A file has no HTTP headers, so the charset comes from the bytes, and framing is
                // unknown.
                lines.print(&line.with_page(understand(url.as_str(), &[], &body)))?;
            }
            Err(error) => {
                lines.fail(&PageLine::error(format!("{}: {error}", path.display())))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(kind: &str, block: &str) -> Vec<u8> {
        let length = block.len();
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://a.example/\r\n\
             Content-Length: {length}\r\n\r\n{block}\r\n\r\n"
        )
        .into_bytes()
    }

    fn lines_of(bytes: &[u8]) -> Vec<Result<PageLine, String>> {
        Records::new(bytes, Limits::default()).map(|(at, record)| line(at, record)).collect()
    }

    #[test]
    fn a_page_has_all_fields_and_an_image_only_its_address() {
        let html = archive(
            "response",
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>A</title>\
             <link rel='shortcut icon' href=/i.png sizes=16x16>",
        );
        let json = serde_json::to_string(&lines_of(&html)[0].as_ref().unwrap()).unwrap();
        let expected = concat!(
            r#"{"offset":0,"url":"http://a.example/","status":200,"title":"A","#,
            r#""charset":"windows-1252","frameable":true,"icons":[{"#,
            r#""href":"http://a.example/i.png","rel":"shortcut icon","type":null,"#,
            r#""sizes":"16x16"}],"error":null}"#,
        );
        assert_eq!(json, expected);
        let image = archive("response", "HTTP/1.1 404 No\r\nContent-Type: image/png\r\n\r\nxx");
        let lines = lines_of(&image);
        let line = lines[0].as_ref().unwrap();
        assert_eq!((line.status, &line.title, &line.icons), (Some(404), &None, &None));
    }

    #[test]
    fn other_records_are_counted_and_unreadable_ones_get_a_line() {
        assert_eq!(lines_of(&archive("request", "GET /")), [Err("request".to_owned())]);
        let no_http = archive("response", "dns: 192.0.2.1");
        let lines = lines_of(&no_http);
        let line = lines[0].as_ref().unwrap();
        assert!(line.error.as_ref().unwrap().contains("not an HTTP message"), "{line:?}");
        let mut cut = archive("response", "HTTP/1.1 200 OK\r\n\r\n<title>Cut</title>");
        cut.truncate(cut.len() - 10);
        let lines = lines_of(&cut);
        let line = lines[0].as_ref().unwrap();
        assert!(line.error.as_ref().unwrap().contains("ends in the middle"), "{line:?}");
        assert_eq!(line.title.as_deref(), Some("Cut</"));
        assert!(lines_of(b"junk")[0].as_ref().unwrap().error.is_some());
    }
}
