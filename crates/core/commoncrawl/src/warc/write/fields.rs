//! Builds a record's header. Values that could end their line are rejected.

use std::net::IpAddr;

/// Why a record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Writing to the output failed.
    #[error("cannot write the archive: {0}")]
    Output(#[from] std::io::Error),
    /// A value contains a control character, or this name is invalid.
    #[error("invalid {name} for a WARC header: {value:?}")]
    Field {
        /// Header name.
        name: String,
        /// First 80 characters of this value.
        value: String,
    },
    /// An HTTP head is incomplete, or does not start with `HTTP/` (response) or a request line
    /// (request).
    #[error("the HTTP head is malformed")]
    HttpHead,
    /// The compressor failed, which only happens if its output buffer is too small.
    #[error("the record cannot be compressed")]
    Compress,
}

pub(super) struct Fields(String);

impl Fields {
    pub(super) fn new(kind: &str, record_id: &str, date: &str) -> Result<Self, WriteError> {
        let mut fields = Self("WARC/1.1\r\n".to_owned());
        fields.add("WARC-Type", kind)?;
        fields.add("WARC-Record-ID", &format!("<{record_id}>"))?;
        fields.add("WARC-Date", date)?;
        Ok(fields)
    }

    pub(super) fn add(&mut self, name: &str, value: &str) -> Result<(), WriteError> {
        self.0.push_str(&Self::line(name, value)?);
        Ok(())
    }

    pub(super) fn add_address(&mut self, address: Option<IpAddr>) -> Result<(), WriteError> {
        let Some(address) = address else { return Ok(()) };
        self.add("WARC-IP-Address", &address.to_string())
    }

    pub(super) fn line(name: &str, value: &str) -> Result<String, WriteError> {
        let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name = !name.is_empty() && name.chars().all(is_token);
        if !is_name || value.chars().any(char::is_control) {
            let value = value.chars().take(80).collect();
            return Err(WriteError::Field { name: name.to_owned(), value });
        }
        Ok(format!("{name}: {value}\r\n"))
    }

    pub(super) fn finish(mut self, block_length: usize) -> Vec<u8> {
        self.0.push_str(&format!("Content-Length: {block_length}\r\n\r\n"));
        self.0.into_bytes()
    }
}
