//! Keeps a few open connections to one server for the next calls.
//!
//! `deadpool` manages the connections, and this module adds rules. An idle connection is tested
//! within a time limit before it is used. If a call fails, every idle connection is tested before
//! its next use, because the same cause may have broken all connections. If an idle connection
//! fails its test, all are closed. They are also closed if the server has become read-only, because
//! they would pass the test although they are connected to the wrong server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use deadpool::managed::{self, Object, PoolError, QueueMode, RecycleError, RecycleResult};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::{
    connection::{server::PostgresServer, server_connection::ServerConnection},
    error::Error,
};

/// Connections that have been idle for longer are closed, because a pooler or firewall may have
/// dropped them.
const MAX_IDLE: Duration = Duration::from_secs(60);
/// A connection used within this time is reused without a test, because the test costs a round
/// trip.
const FRESH: Duration = Duration::from_secs(1);
/// Time limit for testing an idle connection.
const TRY_TIME: Duration = Duration::from_secs(3);
/// Maximum time that a call spends connecting while a server starts.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Pause before the second attempt to connect, doubled up to [`MAX_CONNECT_PAUSE`].
const MIN_CONNECT_PAUSE: Duration = Duration::from_millis(50);
/// Maximum pause between two attempts to connect, so that a call notices soon when the server has
/// started.
const MAX_CONNECT_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Kept {
    connection: ServerConnection,
    used_at: Instant,
    /// The pool's `failures` at the last successful call.
    failures: u64,
}

#[derive(Debug)]
struct Manager {
    server: Arc<PostgresServer>,
    failures: AtomicU64,
}

impl managed::Manager for Manager {
    type Type = Kept;
    type Error = Error;

    async fn create(&self) -> Result<Kept, Error> {
        let failures = self.failures.load(Ordering::Relaxed);
        let connected = timeout(CONNECT_TIME, self.server.connect()).await;
        let connection =
            connected.unwrap_or_else(|_| Err(self.server.no_answer(CONNECT_TIME.as_secs_f32())))?;
        Ok(Kept { connection, used_at: Instant::now(), failures })
    }

    async fn recycle(&self, kept: &mut Kept, _: &managed::Metrics) -> RecycleResult<Error> {
        if kept.connection.client.is_closed() || kept.used_at.elapsed() > MAX_IDLE {
            return Err(RecycleError::message("closed, or idle for too long"));
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Pool {
    connections: managed::Pool<Manager>,
    acquire_time: Duration,
    pub(crate) call_time: Duration,
}

#[derive(Debug)]
pub(super) struct Pooled {
    pool: Pool,
    object: Option<Object<Manager>>,
}

impl Pool {
    pub(crate) fn new(
        server: Arc<PostgresServer>,
        size: u32,
        acquire_time: Duration,
        call_time: Duration,
    ) -> Result<Self, Error> {
        let size = usize::try_from(size).unwrap_or(1).max(1);
        let connections = managed::Pool::builder(Manager { server, failures: AtomicU64::new(0) })
            .max_size(size)
            .queue_mode(QueueMode::Lifo)
            .build()
            .map_err(|error| Error::Unexpected(error.to_string()))?;
        Ok(Self { connections, acquire_time, call_time })
    }

    /// Connects without retries, so that a wrong URL is reported immediately.
    pub(crate) async fn connect_once(&self) -> Result<(), Error> {
        self.get(Instant::now() + self.acquire_time).await.map(drop)
    }

    pub(super) async fn acquire(&self) -> Result<Pooled, Error> {
        let give_up = Instant::now() + self.acquire_time;
        let give_up_connecting = Instant::now() + self.acquire_time.min(CONNECT_TIME);
        let mut pause = MIN_CONNECT_PAUSE;
        loop {
            match self.get(give_up).await {
                Ok(object) => {
                    let pooled = Pooled { pool: self.clone(), object: Some(object) };
                    if pooled.answers().await {
                        return Ok(pooled);
                    }
                    // Otherwise testing each dead connection could take the full time limit.
                    self.close_idle();
                }
                Err(error)
                    if error.is_transient() && Instant::now() + pause < give_up_connecting =>
                {
                    sleep(pause).await;
                    pause = (pause * 2).min(MAX_CONNECT_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn get(&self, give_up: Instant) -> Result<Object<Manager>, Error> {
        match timeout_at(give_up, self.connections.get()).await {
            Ok(Ok(object)) => Ok(object),
            Ok(Err(PoolError::Backend(error))) => Err(error),
            Ok(Err(_closed)) => Err(Error::Closed),
            Err(_elapsed) => Err(self.none_in_time()),
        }
    }

    /// Only established connections count towards the pool's size, so if the pool is not full,
    /// Postgres did not respond.
    fn none_in_time(&self) -> Error {
        let managed::Status { size, max_size, .. } = self.connections.status();
        let server = &self.connections.manager().server;
        let seconds = self.acquire_time.as_secs_f32();
        if size < max_size {
            server.no_answer(seconds)
        } else {
            server.all_in_use(max_size, seconds)
        }
    }

    fn close_idle(&self) {
        self.connections.retain(|_, _| false);
    }

    fn failures(&self) -> &AtomicU64 {
        &self.connections.manager().failures
    }

    /// Calls in progress finish, and later calls fail.
    pub(crate) async fn close(&self) {
        let idle = self.connections.retain(|_, _| false).removed;
        self.connections.close();
        for kept in idle {
            kept.connection.close().await;
        }
    }
}

impl Pooled {
    /// [`Error::Closed`] cannot happen, because only `keep` and `drop` take the connection.
    pub(super) fn connection(&self) -> Result<&ServerConnection, Error> {
        self.object.as_ref().map(|kept| &kept.connection).ok_or(Error::Closed)
    }

    /// Keeps the connection for the next call, because this call left nothing in its session.
    pub(super) fn keep(mut self) {
        if let Some(mut object) = self.object.take() {
            object.used_at = Instant::now();
            object.failures = self.pool.failures().load(Ordering::Relaxed);
        }
    }

    /// Closes the idle connections if they would pass a test but fail calls: the server is no
    /// longer the primary, `migrate` has replaced objects that prepared statements refer to, or the
    /// sessions were reset.
    pub(super) fn note(&self, error: &Error) {
        if error.is_read_only() || error.is_stale_statement() {
            self.pool.close_idle();
        }
    }

    /// Trusts a connection that was used within [`FRESH`] if no call has failed since, and tests
    /// any other.
    async fn answers(&self) -> bool {
        let Some(kept) = &self.object else { return false };
        let is_trusted = kept.failures == self.pool.failures().load(Ordering::Relaxed);
        if is_trusted && kept.used_at.elapsed() < FRESH {
            return true;
        }
        let tried = timeout(TRY_TIME, kept.connection.client.simple_query("")).await;
        matches!(tried, Ok(Ok(_)))
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
            self.pool.failures().fetch_add(1, Ordering::Relaxed);
        }
    }
}
