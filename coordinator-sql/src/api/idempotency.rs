//! Idempotency keys: a client names a request, so that it is performed only once.

/// The identity of a request to which the client gave a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The client's name for this request, 1 to 255 characters.
    pub name: String,
    /// SHA-256 of the request: its method, path and body.
    pub request_sha256: [u8; 32],
}

impl IdempotencyKey {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn request(&self) -> &[u8] {
        &self.request_sha256
    }
}
