//! Requests that clients have named, so that they are performed once.

/// What makes two requests the same, where the client named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The name that the client gave, 1 to 255 characters.
    pub name: String,
    /// SHA-256 of what the request asks: its method, path and body.
    pub request_sha256: [u8; 32],
}
