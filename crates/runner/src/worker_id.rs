//! The name under which a process holds leases, for people and for its own renewals.

use std::sync::OnceLock;

use uuid::Uuid;

/// Returns `<host>:<process>:<random>`, up to 40 characters, unique to this process.
pub fn worker_id() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(make).clone()
}

fn make() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().filter(|c| c.is_ascii_graphic()).take(20).collect();
    let random = Uuid::new_v4().simple().to_string();
    format!("{host}:{}:{}", std::process::id(), &random[..8])
}
