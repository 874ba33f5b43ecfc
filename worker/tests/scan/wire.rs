//! A wire between workers and Postgres that a test cuts: TCP on one side, the server's socket on
//! the other.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

#[derive(Debug, Default)]
struct State {
    /// New connections end immediately.
    is_refusing: bool,
    /// Bytes are taken and go nowhere.
    is_swallowing: bool,
    open: Vec<TcpStream>,
}

/// The wire; its threads end with their connections, the accepting one with the process.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Wire {
    pub(crate) fn before(socket: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let wire = Self { port, state: Arc::default() };
        let (accepting, socket) = (wire.clone(), socket.to_owned());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (wire, socket) = (accepting.clone(), socket.clone());
                thread::spawn(move || wire.pass(&client, &socket));
            }
        });
        wire
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://everytab_worker@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every connection, and every later one immediately.
    pub(crate) fn refuse(&self) {
        let mut state = self.state();
        state.is_refusing = true;
        for connection in state.open.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// From now on no byte arrives, and nobody is told.
    pub(crate) fn swallow(&self) {
        self.state().is_swallowing = true;
    }

    /// Passes bytes again.
    pub(crate) fn mend(&self) {
        let mut state = self.state();
        (state.is_refusing, state.is_swallowing) = (false, false);
    }

    fn pass(&self, client: &TcpStream, socket: &PathBuf) {
        if self.state().is_refusing {
            return;
        }
        let Ok(server) = UnixStream::connect(socket) else { return };
        self.state().open.push(client.try_clone().unwrap());
        thread::scope(|scope| {
            scope.spawn(|| {
                self.copy(&server, client);
                let _ = client.shutdown(Shutdown::Both);
            });
            self.copy(client, &server);
            let _ = server.shutdown(Shutdown::Both);
        });
    }

    fn copy(&self, mut from: impl Read, mut to: impl Write) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(got @ 1..) = from.read(&mut buffer) {
            let is_swallowed = self.state().is_swallowing;
            if !is_swallowed && to.write_all(&buffer[..got]).is_err() {
                break;
            }
        }
    }
}
