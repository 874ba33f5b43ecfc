//! A gate in front of an HTTP server: it passes all bytes on, until a client asks for what it is
//! armed with; that request, and all that match after it, are held until the gate opens or the
//! client dies. So a test kills a worker in the middle of a stage by cause, not by chance.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use crate::setup::wait_for;

#[derive(Debug, Default)]
struct State {
    /// Method and part of the request's head, and how many such requests still pass.
    armed: Option<(&'static str, &'static str, usize)>,
    held: usize,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    opened: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The gate; its threads end with their connections, the accepting one with the process.
#[derive(Debug)]
pub(crate) struct Gate {
    /// `http://127.0.0.1:<port>`.
    pub(crate) endpoint: String,
    shared: Arc<Shared>,
}

impl Gate {
    /// A gate before the server at `http://host:port`.
    pub(crate) fn before(endpoint: &str) -> Self {
        let server = endpoint.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (shared, server) = (Arc::clone(&accepting), server.clone());
                thread::spawn(move || pass(&client, &server, &shared));
            }
        });
        Self { endpoint, shared }
    }

    /// Holds requests of this method whose head has `part` in it, after `passing` of them.
    pub(crate) fn arm(&self, method: &'static str, part: &'static str, passing: usize) {
        *self.shared.state() = State { armed: Some((method, part, passing)), held: 0 };
    }

    /// Waits until a request is held.
    pub(crate) fn wait_until_held(&self) {
        let armed = self.shared.state().armed;
        wait_for(&format!("a request like {armed:?}"), || {
            (self.shared.state().held > 0).then_some(())
        });
    }

    /// Whether a request is held since the last call; it stays held.
    pub(crate) fn take_held(&self) -> bool {
        std::mem::take(&mut self.shared.state().held) > 0
    }

    /// Lets everything pass.
    pub(crate) fn open(&self) {
        *self.shared.state() = State::default();
        self.shared.opened.notify_all();
    }
}

fn pass(client: &TcpStream, server: &str, shared: &Shared) {
    let Ok(server) = TcpStream::connect(server) else { return };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut from = &server;
            // A broken connection ends both ways; the client tries again.
            let _ = std::io::copy(&mut from, &mut &*client);
            let _ = client.shutdown(Shutdown::Both);
        });
        let mut buffer = vec![0; 64 << 10];
        loop {
            let got = (&*client).read(&mut buffer).unwrap_or(0);
            let bytes = buffer.get(..got).unwrap_or_default();
            if got == 0 || !admit(bytes, shared) || (&server).write_all(bytes).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// Waits while the request that starts in these bytes is held.
fn admit(bytes: &[u8], shared: &Shared) -> bool {
    let head = bytes.get(..bytes.len().min(4_000)).unwrap_or_default();
    let head = String::from_utf8_lossy(head);
    let is_meant = |state: &mut State| {
        state.armed.as_mut().is_some_and(|(method, part, passing)| {
            let matches = head.starts_with(&format!("{method} ")) && head.contains(*part);
            let holds = matches && *passing == 0;
            *passing = passing.saturating_sub(usize::from(matches));
            holds
        })
    };
    let mut state = shared.state();
    if is_meant(&mut state) {
        state.held += 1;
        while state.armed.is_some() {
            state = shared.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Its client was killed meanwhile, or tries again.
        return false;
    }
    true
}
