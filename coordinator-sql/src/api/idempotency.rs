//! Requests that clients name, so that they are performed once.

/// The identity of a request that the client named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The name that the client gave, 1 to 255 characters.
    pub name: String,
    /// SHA-256 of the request: its method, path and body.
    pub request_sha256: [u8; 32],
}

impl IdempotencyKey {
    /// Returns the name as a parameter.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the request's digest as a parameter.
    pub(crate) fn request(&self) -> &[u8] {
        &self.request_sha256
    }
}
