//! The jobs of a scan: one file a kind, and the registry.
//!
//! Must not know: scheduling.
