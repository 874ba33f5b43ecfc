//! AWS Signature Version 4 for a GET request with a range.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) region: String,
    pub(super) service: String,
}

pub(super) struct SigningKey {
    key_id: String,
    token: Option<String>,
    day: String,
    scope: String,
    key: [u8; 32],
}

pub(super) struct Signed<'a> {
    pub(super) authorization: String,
    pub(super) content_sha256: &'static str,
    pub(super) token: Option<&'a str>,
}

impl SigningKey {
    /// A `day` is written like `20260131`.
    pub(super) fn derive(
        key_id: &str,
        secret: &str,
        token: Option<&str>,
        day: &str,
        scope: &Scope,
    ) -> Self {
        let Scope { region, service } = scope;
        let mut key = hmac(format!("AWS4{secret}").as_bytes(), day);
        for part in [region, service, "aws4_request"] {
            key = hmac(&key, part);
        }
        Self {
            key_id: key_id.to_owned(),
            token: token.map(str::to_owned),
            day: day.to_owned(),
            scope: format!("{day}/{region}/{service}/aws4_request"),
            key,
        }
    }

    pub(super) fn day(&self) -> &str {
        &self.day
    }

    /// `time` is on the key's day, in the form `20260131T235959Z`. `path` is percent-encoded.
    pub(super) fn sign(&self, host: &str, path: &str, range: &str, time: &str) -> Signed<'_> {
        let mut names = "host;range;x-amz-content-sha256;x-amz-date".to_owned();
        let mut fields = format!(
            "host:{host}\nrange:{range}\nx-amz-content-sha256:{EMPTY_SHA256}\nx-amz-date:{time}\n"
        );
        if let Some(token) = &self.token {
            names.push_str(";x-amz-security-token");
            fields = format!("{fields}x-amz-security-token:{token}\n");
        }
        let request = format!("GET\n{path}\n\n{fields}\n{names}\n{EMPTY_SHA256}");
        let digest = hex::encode(Sha256::digest(request.as_bytes()));
        let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{}\n{digest}", self.scope);
        let signature = hex::encode(hmac(&self.key, &to_sign));
        Signed {
            authorization: format!(
                "AWS4-HMAC-SHA256 Credential={}/{},SignedHeaders={names},Signature={signature}",
                self.key_id, self.scope
            ),
            content_sha256: EMPTY_SHA256,
            token: self.token.as_deref(),
        }
    }
}

pub(super) fn path_encoded(key: &str) -> String {
    let mut path = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                path.push(char::from(byte));
            }
            _ => {
                let _ = write!(path, "%{byte:02X}");
            }
        }
    }
    path
}

fn hmac(key: &[u8], message: &str) -> [u8; 32] {
    // HMAC takes keys of any length, so this never fails.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    mac.update(message.as_bytes());
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

    fn key(token: Option<&str>) -> SigningKey {
        let scope = Scope { region: "us-east-1".to_owned(), service: "s3".to_owned() };
        SigningKey::derive("AKIAIOSFODNN7EXAMPLE", SECRET, token, "20130524", &scope)
    }

    #[test]
    fn the_specifications_example_has_the_same_signature() {
        // Amazon S3 API Reference, "Example: GET Object".
        let host = "examplebucket.s3.amazonaws.com";
        let key = key(None);
        let signed = key.sign(host, "/test.txt", "bytes=0-9", "20130524T000000Z");
        assert_eq!(
            signed.authorization,
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,\
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        assert_eq!(signed.token, None);
    }

    #[test]
    fn a_session_token_is_signed_and_sent() {
        let key = key(Some("a token"));
        let signed = key.sign("h", "/k", "bytes=0-9", "20130524T000000Z");
        assert!(signed.authorization.contains(";x-amz-date;x-amz-security-token,"));
        assert_eq!(signed.token, Some("a token"));
    }

    #[test]
    fn all_but_unreserved_bytes_are_percent_encoded() {
        assert_eq!(path_encoded("crawl-data/A_z~0.gz"), "crawl-data/A_z~0.gz");
        assert_eq!(path_encoded("a b+c=%é"), "a%20b%2Bc%3D%25%C3%A9");
    }
}
