//! A TCP proxy between workers and Postgres's socket, whose connections a test can break.

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
    is_refusing: bool,
    is_dropping: bool,
    open: Vec<TcpStream>,
}

/// The proxy. Its threads end with their connections, and the accepting one with the process.
#[derive(Debug, Clone)]
pub(crate) struct PostgresProxy {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl PostgresProxy {
    pub(crate) fn before(socket: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Self { port, state: Arc::default() };
        let accepting = proxy.clone();
        let socket = socket.to_owned();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (proxy, socket) = (accepting.clone(), socket.clone());
                thread::spawn(move || proxy.pass(&client, &socket));
            }
        });
        proxy
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://everytab_worker@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes every connection, and closes later ones immediately.
    pub(crate) fn refuse(&self) {
        let mut state = self.state();
        state.is_refusing = true;
        for connection in state.open.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Drops all bytes without an error on either end.
    pub(crate) fn drop_bytes(&self) {
        self.state().is_dropping = true;
    }

    pub(crate) fn restore(&self) {
        let mut state = self.state();
        (state.is_refusing, state.is_dropping) = (false, false);
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
            let is_dropped = self.state().is_dropping;
            if !is_dropped && to.write_all(&buffer[..got]).is_err() {
                break;
            }
        }
    }
}
