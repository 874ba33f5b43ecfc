//! The connection pool of one origin's URLs, or of one crawled host. It holds idle connections, and
//! the permits of the last request.

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    permits::{politeness::Politeness, request_permits::RequestPermits},
    request::connection::Connection,
};

/// Maximum number of idle connections in a pool: two to the origin, and two to the targets of
/// redirects.
const MAX_IDLE: usize = 4;

struct HandedOn {
    origin: String,
    permits: RequestPermits,
}

struct IdleConnection {
    origin: String,
    connection: Connection,
    _permit: OwnedSemaphorePermit,
}

#[derive(Default)]
pub(crate) struct ConnectionPool {
    idle: Mutex<Vec<IdleConnection>>,
    handed_on: Mutex<Option<HandedOn>>,
}

impl ConnectionPool {
    pub(crate) fn take(&self, origin: &str) -> Option<Connection> {
        let mut idle = self.idle.lock();
        idle.retain(|one| !one.connection.is_closed());
        let index = idle.iter().position(|one| one.origin == origin)?;
        if let Some(shared) = idle[index].connection.share() {
            return Some(shared);
        }
        Some(idle.remove(index).connection)
    }

    pub(crate) fn keep(&self, origin: &str, connection: Connection, politeness: &Politeness) {
        let mut idle = self.idle.lock();
        let is_shared =
            |one: &IdleConnection| one.origin == origin && one.connection.speaks_http2();
        if connection.is_closed() || (connection.speaks_http2() && idle.iter().any(is_shared)) {
            return;
        }
        if idle.len() >= MAX_IDLE {
            idle.remove(0);
        }
        if let Some(permit) = politeness.try_acquire_idle() {
            idle.push(IdleConnection { origin: origin.to_owned(), connection, _permit: permit });
        }
    }

    /// Hands the permits of a finished request on to the next request over the same connection,
    /// which would otherwise wait behind all others while its connection is open. Only for a
    /// sequential scope, because a request that waits for permits must not hold any.
    pub(crate) fn hand_on(&self, origin: &str, permits: RequestPermits) {
        *self.handed_on.lock() = Some(HandedOn { origin: origin.to_owned(), permits });
    }

    pub(crate) fn take_handed_on(&self, origin: &str) -> Option<RequestPermits> {
        let handed_on = self.handed_on.lock().take()?;
        let is_open = |one: &IdleConnection| one.origin == origin && !one.connection.is_closed();
        let is_wanted = handed_on.origin == origin && self.idle.lock().iter().any(is_open);
        is_wanted.then_some(handed_on.permits)
    }

    pub(crate) fn release_permits(&self) {
        drop(self.handed_on.lock().take());
    }
}
