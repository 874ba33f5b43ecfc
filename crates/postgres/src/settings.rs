//! Settings of a private server.

use std::path::PathBuf;

/// How a private Postgres runs. Everything but `dir` may differ from start to start.
#[derive(Debug, Clone)]
pub struct PostgresSettings {
    /// The folder of cluster, log and lock, used by this server alone; made if it is missing.
    pub dir: PathBuf,
    /// False turns fsync, full_page_writes and synchronous_commit off: a killed server may then
    /// lose its last transactions, and a crash of the machine may destroy the cluster. For tests.
    pub durable: bool,
    /// Postgres's max_connections.
    pub max_connections: u32,
    /// Further server settings (name, value), which override those set here.
    pub extra: Vec<(String, String)>,
}

impl PostgresSettings {
    /// A durable server in `dir` with 100 connections.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), durable: true, max_connections: 100, extra: Vec::new() }
    }
}
