//! A few connections to one server, made when needed and kept for the next call.
//!
//! sqlx has a pool; its connections are tried before and after each call without a limit, so that
//! over a dead network every place of it is taken for as long as TCP hopes. Here nothing waits
//! without a limit, a connection that was used a moment ago is not tried at all, and after a
//! failure none of the others is trusted.
//! Must not know: what is called.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout, timeout_at},
};

use crate::{
    error::Error,
    server::{Server, connect_error},
};

/// A connection idle for longer is closed: a pooler or a firewall may have forgotten it.
const IDLE_AT_MOST: Duration = Duration::from_secs(60);
/// A connection used within this time is taken as it is.
const FRESH: Duration = Duration::from_secs(1);
/// How long a connection may take to show that it lives, or to end well.
const PING_TIME: Duration = Duration::from_secs(3);
/// Between two tries to connect; doubled up to the second.
const PAUSE_AT_LEAST: Duration = Duration::from_millis(50);
const PAUSE_AT_MOST: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Shared {
    server: Server,
    places: Arc<Semaphore>,
    acquire_time: Duration,
    idle: Mutex<Vec<(PgConnection, Instant)>>,
}

/// So many connections at most, and how long a call over one of them may take.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    pub(crate) limit: Duration,
}

/// A connection and its place in the pool. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Pooled {
    shared: Arc<Shared>,
    connection: Option<PgConnection>,
    _place: OwnedSemaphorePermit,
}

impl Pool {
    pub(crate) fn new(server: Server, size: u32, acquire_time: Duration, limit: Duration) -> Self {
        let places = Arc::new(Semaphore::new(usize::try_from(size).unwrap_or(1).max(1)));
        let shared = Arc::new(Shared { server, places, acquire_time, idle: Mutex::default() });
        Self { shared, limit }
    }

    /// Connects, or says at once why not.
    pub(crate) async fn try_first(&self) -> Result<(), Error> {
        let connection =
            self.shared.connect_once(Instant::now() + self.shared.acquire_time).await?;
        self.shared.idle().push((connection, Instant::now()));
        Ok(())
    }

    /// A connection that works as far as one can know. Waits for a place, and for a server that
    /// is on its way up.
    pub(crate) async fn acquire(&self) -> Result<Pooled, Error> {
        let give_up = Instant::now() + self.shared.acquire_time;
        let places = Arc::clone(&self.shared.places);
        let place = timeout_at(give_up, places.acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(sqlx::Error::PoolTimedOut.into()) };
        let connection = match self.shared.take_idle().await {
            Some(connection) => connection,
            None => self.shared.connect(give_up).await?,
        };
        let shared = Arc::clone(&self.shared);
        Ok(Pooled { shared, connection: Some(connection), _place: place })
    }

    /// Closes the connections that nobody uses.
    pub(crate) async fn close(&self) {
        let idle = mem::take(&mut *self.shared.idle());
        for (connection, _) in idle {
            let _ = timeout(PING_TIME, connection.close()).await;
        }
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<(PgConnection, Instant)>> {
        // Nothing panics between changes, so a poisoned list is whole.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection used last, if it still lives. Those that are too old end.
    async fn take_idle(&self) -> Option<PgConnection> {
        let (mut connection, since) = {
            let mut idle = self.idle();
            idle.retain(|(_, since)| since.elapsed() < IDLE_AT_MOST);
            idle.pop()?
        };
        if since.elapsed() < FRESH {
            return Some(connection);
        }
        if let Ok(Ok(())) = timeout(PING_TIME, connection.ping()).await {
            return Some(connection);
        }
        self.idle().clear();
        None
    }

    async fn connect(&self, give_up: Instant) -> Result<PgConnection, Error> {
        let mut pause = PAUSE_AT_LEAST;
        loop {
            match self.connect_once(give_up).await {
                Err(error) if error.is_transient() && Instant::now() + pause < give_up => {
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_AT_MOST);
                }
                connected => return connected,
            }
        }
    }

    async fn connect_once(&self, give_up: Instant) -> Result<PgConnection, Error> {
        let options = self.server.options()?;
        let connecting = timeout_at(give_up, options.connect()).await;
        let connected = connecting
            .unwrap_or_else(|_elapsed| {
                let seconds = self.acquire_time.as_secs_f32();
                Err(std::io::Error::other(format!("no answer in {seconds} s")).into())
            })
            .map_err(|error| {
                connect_error(&options, error, self.server.was_let_in.load(Ordering::Relaxed))
            })?;
        self.server.was_let_in.store(true, Ordering::Relaxed);
        Ok(connected)
    }
}

impl Pooled {
    pub(crate) fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        self.connection.as_mut().ok_or(sqlx::Error::PoolClosed)
    }

    /// The call has ended well: the connection may serve the next one.
    pub(crate) fn keep(mut self) {
        if let Some(connection) = self.connection.take() {
            self.shared.idle().push((connection, Instant::now()));
        }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        // Its socket closes here and now: waiting for a rollback on a dead connection would take
        // for ever. What became of it may well have become of the others.
        if self.connection.take().is_some() {
            self.shared.idle().clear();
        }
    }
}
