//! Errors that occur when a small internet starts. Each message is one line and names the failed
//! operation.

use std::path::PathBuf;

/// Why a small internet could not start.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// A file or directory could not be read or written.
    # [error("{}: {source}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A listening socket could not be created.
    #[error("cannot listen for {what}: {source}")]
    Listen {
        /// The listener's name: `dns`, `http`, `https` or `bucket`.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The certificate authority or a leaf could not be created.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// rustls rejected the settings.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The generated crawl's index could not be written.
    # [error("cannot write the index {}: {source}", path.display())]
    Index {
        /// The parquet file.
        path: PathBuf,
        /// The writer's error.
        source: everytab_commoncrawl::index::write::IndexWriteError,
    },
    /// The settings are invalid, or the directory is not a recorded crawl.
    #[error("{0}")]
    Settings(String),
}

impl TestbedError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    pub(crate) fn listen(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Listen { what, source }
    }
}
