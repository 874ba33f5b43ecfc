//! A private server's settings.

use std::path::PathBuf;

/// A private Postgres's settings. All except `dir` may change between starts.
#[derive(Debug, Clone)]
pub struct PostgresSettings {
    /// The directory for cluster, log and lock, which only this server uses. It is created if it is
    /// missing.
    pub dir: PathBuf,
    /// If false, fsync, full_page_writes and synchronous_commit are off, for tests. A killed server
    /// may then lose its last transactions, and a crash of the host may destroy the cluster.
    pub durable: bool,
    /// Postgres's max_connections.
    pub max_connections: u32,
    /// Additional server settings (name, value), which override the settings above.
    pub extra: Vec<(String, String)>,
}

impl PostgresSettings {
    /// Returns the settings for a durable server in `dir` with 100 connections.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), durable: true, max_connections: 100, extra: Vec::new() }
    }
}
