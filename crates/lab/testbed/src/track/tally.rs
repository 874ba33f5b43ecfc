//! A track's totals: queries, connections, handshakes, requests.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{
    Serialize,
    ser::{SerializeStruct, Serializer},
};

/// The totals since the start.
#[derive(Debug, Default)]
pub struct Tally {
    pub(crate) questions: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) handshakes: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) most_open: AtomicU64,
}

impl Tally {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connection(&self) -> Open<'_> {
        Self::count(&self.connections);
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_open.fetch_max(open, Ordering::Relaxed);
        Open(self)
    }
}

pub(crate) struct Open<'a>(&'a Tally);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut fields = serializer.serialize_struct("Tally", 5)?;
        fields.serialize_field("dns_questions", &read(&self.questions))?;
        fields.serialize_field("connections", &read(&self.connections))?;
        fields.serialize_field("handshakes", &read(&self.handshakes))?;
        fields.serialize_field("requests", &read(&self.requests))?;
        fields.serialize_field("most_connections_at_once", &read(&self.most_open))?;
        fields.end()
    }
}
