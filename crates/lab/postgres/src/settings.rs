//! A private server's settings.

use std::path::PathBuf;

/// Settings of a private Postgres. All except `dir` may change between starts.
#[derive(Debug, Clone)]
pub struct PostgresSettings {
    /// The directory of cluster, log and lock, used only by this server; created if missing.
    pub dir: PathBuf,
    /// If false, fsync, full_page_writes and synchronous_commit are off: a killed server may lose
    /// its last transactions, and a crash of the host may destroy the cluster. For tests.
    pub durable: bool,
    /// Postgres's max_connections.
    pub max_connections: u32,
    /// Additional server settings (name, value), which override those set here.
    pub extra: Vec<(String, String)>,
}

impl PostgresSettings {
    /// Returns the settings of a durable server in `dir` with 100 connections.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), durable: true, max_connections: 100, extra: Vec::new() }
    }
}
