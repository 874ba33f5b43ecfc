//! A URL's response before a behaviour changes it.

use bytes::Bytes;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct StoredResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}
