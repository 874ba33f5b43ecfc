//! The report that `everytab-worker inspect icon` prints about a file.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{convert::to_tab_icon, measure::measure, sniff::sniff};

/// One line of `inspect icon`. `None` is printed as null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IconReport {
    /// The file name from the command line.
    pub file: String,
    /// MIME type, as detected from the content.
    pub content_type: Option<String>,
    /// Width in pixels from the header.
    pub width: Option<u32>,
    /// Height in pixels from the header.
    pub height: Option<u32>,
    /// File size in bytes.
    pub bytes: usize,
    /// The file's SHA-256 digest in lower-case hex.
    pub sha256: String,
    /// The tab icon, a PNG in base64.
    pub png_base64: Option<String>,
    /// The tab icon's width in pixels.
    pub png_w: Option<u32>,
    /// The tab icon's height in pixels.
    pub png_h: Option<u32>,
    /// The tab icon's size in bytes.
    pub png_bytes: Option<usize>,
    /// Why there is no tab icon, written as `kind: explanation`.
    pub error: Option<String>,
}

/// Creates the report about an icon.
#[must_use]
pub fn inspect_icon(file_name: &str, bytes: &[u8]) -> IconReport {
    let measured = measure(bytes).ok();
    let format = measured.map(|m| m.format).or_else(|| sniff(bytes));
    let sides = measured.filter(|m| m.width > 0 && m.height > 0);
    let converted = to_tab_icon(bytes);
    let icon = converted.as_ref().ok();
    IconReport {
        file: file_name.to_owned(),
        content_type: format.map(|format| format.content_type().to_owned()),
        width: sides.map(|m| m.width),
        height: sides.map(|m| m.height),
        bytes: bytes.len(),
        sha256: hex::encode(Sha256::digest(bytes)),
        png_base64: icon.map(|icon| STANDARD.encode(&icon.png)),
        png_w: icon.map(|icon| icon.width),
        png_h: icon.map(|icon| icon.height),
        png_bytes: icon.map(|icon| icon.png.len()),
        error: converted.as_ref().err().map(|error| format!("{}: {error}", error.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_file_gives_a_report_with_the_error() {
        let report = inspect_icon("x.ico", b"<!doctype html>");
        let json = serde_json::to_string(&report).unwrap();
        let expected = concat!(
            r#"{"file":"x.ico","content_type":null,"width":null,"height":null,"bytes":15,"#,
            r#""sha256":"fe26c59e91ac8de694b2531dc3bdc1b7faf471d3d7e4e00870af60f5f22897cb","#,
            r#""png_base64":null,"png_w":null,"png_h":null,"png_bytes":null,"#,
            r#""error":"not_image_html: an HTML page, not an image"}"#,
        );
        assert_eq!(json, expected);
    }
}
