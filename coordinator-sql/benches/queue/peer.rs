//! The peer with which `drain` compares the queue: graphile-worker, if the directory
//! `EVERYTAB_PEERS` contains its program.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use everytab_postgres::ADMIN_USER;
use serde_json::Value;

use crate::server::Server;

pub(crate) struct Peer(tempfile::TempDir);

impl Peer {
    pub(crate) fn install() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
        let peers = std::env::var_os("EVERYTAB_PEERS")
            .map_or_else(|| root.join("../shared/peers"), PathBuf::from);
        let source = peers.join("graphile");
        if !source.join("bench.mjs").exists() {
            eprintln!("skipped: no peer in {} (EVERYTAB_PEERS)", source.display());
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["bench.mjs", "package.json"] {
            fs::copy(source.join(name), folder.path().join(name)).unwrap();
        }
        let npm = Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .status();
        if !npm.is_ok_and(|status| status.success()) {
            eprintln!("skipped: npm install of the peer failed");
            return None;
        }
        Some(Self(folder))
    }

    pub(crate) fn drain(&self, server: &Server, jobs: u32, processes: u32, batched: bool) -> Value {
        server.sql("postgres", "drop database if exists peer with (force)");
        server.sql("postgres", "create database peer");
        let output = Command::new("node")
            .arg("bench.mjs")
            .args(["--jobs", &jobs.to_string(), "--processes", &processes.to_string()])
            .args(["--batched", if batched { "1" } else { "0" }])
            .env("DATABASE_URL", server.url("peer", ADMIN_USER))
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            panic!("the peer printed no line of JSON; its output: {text}{errors}")
        });
        serde_json::from_str(line).unwrap()
    }
}
