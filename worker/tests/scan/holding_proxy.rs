//! A proxy in front of an HTTP server that holds a chosen request and all later matches, so that a
//! test can kill a worker at the same point in each run.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use crate::setup::wait_for;

#[derive(Debug, Default)]
struct State {
    /// The requests to hold: method, a part of the head, and how many pass first.
    pattern: Option<(&'static str, &'static str, usize)>,
    /// Requests held since the last call to `take_held`.
    held: usize,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    released: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The proxy. Its threads end with their connections, and the accepting one with the process.
#[derive(Debug)]
pub(crate) struct HoldingProxy {
    pub(crate) endpoint: String,
    shared: Arc<Shared>,
}

impl HoldingProxy {
    pub(crate) fn before(endpoint: &str) -> Self {
        let server = endpoint.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = Arc::clone(&accepting);
                let server = server.clone();
                thread::spawn(move || pass(&client, &server, &shared));
            }
        });
        Self { endpoint, shared }
    }

    /// Holds requests with this method whose head contains `part`, except the first `passing`.
    pub(crate) fn hold(&self, method: &'static str, part: &'static str, passing: usize) {
        *self.shared.state() = State { pattern: Some((method, part, passing)), held: 0 };
    }

    pub(crate) fn wait_until_held(&self) {
        let pattern = self.shared.state().pattern;
        wait_for(&format!("a request like {pattern:?}"), || {
            (self.shared.state().held > 0).then_some(())
        });
    }

    /// Returns whether a request was held since the last call. The request remains held.
    pub(crate) fn take_held(&self) -> bool {
        std::mem::take(&mut self.shared.state().held) > 0
    }

    pub(crate) fn release(&self) {
        *self.shared.state() = State::default();
        self.shared.released.notify_all();
    }
}

fn pass(client: &TcpStream, server: &str, shared: &Shared) {
    let Ok(server) = TcpStream::connect(server) else { return };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut from = &server;
            let _ = std::io::copy(&mut from, &mut &*client);
            let _ = client.shutdown(Shutdown::Both);
        });
        let mut buffer = vec![0; 64 << 10];
        loop {
            let got = (&*client).read(&mut buffer).unwrap_or(0);
            let bytes = buffer.get(..got).unwrap_or_default();
            if got == 0 || !wait_if_held(bytes, shared) || (&server).write_all(bytes).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// Waits while the request that starts with these bytes is held. Returns false if it was, because
/// its client has left or will send it again.
fn wait_if_held(bytes: &[u8], shared: &Shared) -> bool {
    let head = bytes.get(..bytes.len().min(4_000)).unwrap_or_default();
    let head = String::from_utf8_lossy(head);
    let is_held = |state: &mut State| {
        state.pattern.as_mut().is_some_and(|(method, part, passing)| {
            let matches = head.starts_with(&format!("{method} ")) && head.contains(*part);
            let holds = matches && *passing == 0;
            *passing = passing.saturating_sub(usize::from(matches));
            holds
        })
    };
    let mut state = shared.state();
    if is_held(&mut state) {
        state.held += 1;
        while state.pattern.is_some() {
            state = shared.released.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        return false;
    }
    true
}
