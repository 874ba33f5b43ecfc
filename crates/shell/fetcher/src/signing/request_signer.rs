//! The three header fields of a signed request, and the fields of a signed key directory.
//!
//! A request's signature covers only the requested authority and the address of our key directory,
//! so the requests on a connection share a signature until it is renewed
//! (docs/decisions/0042-signed-requests.md).

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};
use url::Url;

use super::signing_key::SigningKey;

/// How long a signature is valid. A verifier may have to fetch the key first, or its clock may be
/// minutes fast, but an intercepted signature soon becomes useless.
const LIFETIME: Duration = Duration::from_secs(5 * 60);
/// Age at which a connection gets a new signature, so that each signature is valid for at least
/// four more minutes when it is sent.
const RENEWED_AFTER: Duration = Duration::from_secs(60);
/// How long a key directory's signature is valid. It is long, because a site may be published only
/// once a month.
const DIRECTORY_LIFETIME: Duration = Duration::from_secs(62 * 24 * 3600);

const SIGNATURE: HeaderName = HeaderName::from_static("signature");
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE_AGENT: HeaderName = HeaderName::from_static("signature-agent");

/// Why requests cannot be signed for a site.
#[derive(Debug, thiserror::Error)]
pub enum SignerError {
    /// The site's address is not https, so verifiers would not fetch keys from it.
    #[error("invalid address {0:?}: expected an https URL where sites can find the key")]
    NotHttps(String),
}

/// Signs requests with a key, on behalf of a site that publishes the key.
#[derive(Debug)]
pub struct RequestSigner {
    key: Arc<SigningKey>,
    agent: String,
}

#[derive(Clone, Debug)]
pub(crate) struct RequestSignature {
    signature: HeaderValue,
    input: HeaderValue,
    agent: HeaderValue,
    made_at: Instant,
}

impl RequestSigner {
    /// Creates a signer for a key that is published at the origin of `site_url`.
    ///
    /// # Errors
    /// Returns an error if `site_url` is not an https URL.
    pub fn new(key: Arc<SigningKey>, site_url: &str) -> Result<Self, SignerError> {
        let url = Url::parse(site_url).ok().filter(|url| url.scheme() == "https");
        let url = url.ok_or_else(|| SignerError::NotHttps(site_url.to_owned()))?;
        Ok(Self { key, agent: format!("\"{}\"", url.origin().ascii_serialization()) })
    }

    pub(crate) fn sign(&self, authority: &str) -> Option<RequestSignature> {
        self.sign_at(authority, now())
    }

    fn sign_at(&self, authority: &str, created: u64) -> Option<RequestSignature> {
        let agent = &self.agent;
        let input = format!(
            "(\"@authority\" \"signature-agent\";key=\"sig1\"){}",
            self.parameters(created, LIFETIME, "web-bot-auth")
        );
        let base = format!(
            "\"@authority\": {authority}\n\"signature-agent\";key=\"sig1\": {agent}\n\
             \"@signature-params\": {input}"
        );
        let signature = self.key.sign(base.as_bytes());
        let value = |text: String| HeaderValue::try_from(text).ok();
        Some(RequestSignature {
            signature: value(format!("sig1=:{signature}:"))?,
            input: value(format!("sig1={input}"))?,
            agent: value(format!("sig1={agent}"))?,
            made_at: Instant::now(),
        })
    }

    /// Returns the names and values of the header fields that prove that a key directory's server
    /// has the key.
    #[must_use]
    pub fn directory_headers(
        &self,
        authority: &str,
        directory: &[u8],
    ) -> [(&'static str, String); 3] {
        let digest = format!("sha-256=:{}:", STANDARD.encode(Sha256::digest(directory)));
        let parameters =
            self.parameters(now(), DIRECTORY_LIFETIME, "http-message-signatures-directory");
        let input = format!("(\"@authority\";req \"content-digest\"){parameters}");
        let base = format!(
            "\"@authority\";req: {authority}\n\"content-digest\": {digest}\n\
             \"@signature-params\": {input}"
        );
        [
            ("Content-Digest", digest),
            ("Signature-Input", format!("sig1={input}")),
            ("Signature", format!("sig1=:{}:", self.key.sign(base.as_bytes()))),
        ]
    }

    fn parameters(&self, created: u64, lifetime: Duration, tag: &str) -> String {
        let expires = created + lifetime.as_secs();
        let key_id = self.key.key_id();
        format!(
            ";created={created};expires={expires};keyid=\"{key_id}\";alg=\"ed25519\";tag=\"{tag}\""
        )
    }
}

impl RequestSignature {
    pub(crate) fn is_old(&self) -> bool {
        self.made_at.elapsed() >= RENEWED_AFTER
    }

    pub(crate) fn add_to(&self, headers: &mut HeaderMap) {
        headers.insert(SIGNATURE_AGENT, self.agent.clone());
        headers.insert(SIGNATURE_INPUT, self.input.clone());
        headers.insert(SIGNATURE, self.signature.clone());
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
