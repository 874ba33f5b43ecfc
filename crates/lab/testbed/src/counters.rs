//! Counts requests and open connections, so that tests can check that a client is polite.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    hash::Hash,
    net::IpAddr,
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use crate::behaviour::Behaviour;

/// A snapshot of all counts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// Queries that the name server received.
    pub dns_questions: u64,
    /// Connections that the web listeners accepted.
    pub connections: u64,
    /// HTTP requests by their host's behaviour.
    pub requests: BTreeMap<Behaviour, u64>,
    /// HTTP requests for `/robots.txt`. They are also counted in `requests`.
    pub robots_requests: u64,
    /// Requests to the bucket.
    pub bucket_requests: u64,
    /// Connections that are open now.
    pub open_connections: u64,
    /// Maximum concurrent connections so far.
    pub most_connections: u64,
    /// Maximum concurrent connections to one address, and this address.
    pub most_per_address: Option<(u32, IpAddr)>,
    /// Maximum concurrent connections to one host, and this host.
    pub most_per_host: Option<(u32, String)>,
}

/// A request received over HTTP/2.
#[derive(Clone, Debug, Serialize)]
pub struct Http2Request {
    /// The `:authority` pseudo-header field.
    pub host: String,
    /// The `:path` pseudo-header field.
    pub path: String,
    /// The header fields.
    pub headers: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    counts: Counts,
    access_log: Option<Vec<(String, String)>>,
    http2_requests: Vec<Http2Request>,
    open_per_address: HashMap<IpAddr, u32>,
    open_per_host: HashMap<String, u32>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Counters(Arc<Mutex<OpenConnections>>);

impl Counters {
    pub(crate) fn read(&self) -> Counts {
        self.lock().counts.clone()
    }

    pub(crate) fn dns_question(&self) {
        self.lock().counts.dns_questions += 1;
    }

    pub(crate) fn bucket_request(&self) {
        self.lock().counts.bucket_requests += 1;
    }

    pub(crate) fn keep_access_log(&self) {
        self.lock().access_log.get_or_insert_default();
    }

    pub(crate) fn access_log(&self) -> Vec<(String, String)> {
        self.lock().access_log.clone().unwrap_or_default()
    }

    pub(crate) fn http2_requests(&self) -> Vec<Http2Request> {
        self.lock().http2_requests.clone()
    }

    pub(crate) fn http2_request<B>(&self, request: &http::Request<B>) {
        let mut state = self.lock();
        if state.access_log.is_some() {
            let uri = request.uri();
            let field = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
                (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            };
            state.http2_requests.push(Http2Request {
                host: uri.authority().map(ToString::to_string).unwrap_or_default(),
                path: uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
                headers: request.headers().iter().map(field).collect(),
            });
        }
    }

    pub(crate) fn request(&self, behaviour: Behaviour, host: &str, path: &str) {
        let mut state = self.lock();
        if let Some(log) = &mut state.access_log {
            log.push((host.to_owned(), path.to_owned()));
        }
        *state.counts.requests.entry(behaviour).or_default() += 1;
        if path == "/robots.txt" {
            state.counts.robots_requests += 1;
        }
    }

    /// Counts a connection until the returned value is dropped.
    pub(crate) fn connection(&self, address: IpAddr) -> CountedConnection {
        let mut state = self.lock();
        let OpenConnections { counts, open_per_address, .. } = &mut *state;
        counts.connections += 1;
        counts.open_connections += 1;
        counts.most_connections = counts.most_connections.max(counts.open_connections);
        raise(open_per_address, address, &mut counts.most_per_address);
        drop(state);
        CountedConnection { counters: self.clone(), address, host: None }
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.0.lock()
    }
}

#[derive(Debug)]
pub(crate) struct CountedConnection {
    counters: Counters,
    address: IpAddr,
    host: Option<String>,
}

impl CountedConnection {
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    pub(crate) fn is_for(&mut self, host: &str) {
        if self.host.is_none() {
            let mut state = self.counters.lock();
            let OpenConnections { counts, open_per_host, .. } = &mut *state;
            raise(open_per_host, host.to_owned(), &mut counts.most_per_host);
            drop(state);
            self.host = Some(host.to_owned());
        }
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let mut state = self.counters.lock();
        state.counts.open_connections = state.counts.open_connections.saturating_sub(1);
        lower(&mut state.open_per_address, self.address);
        if let Some(host) = self.host.take() {
            lower(&mut state.open_per_host, host);
        }
    }
}

fn raise<K: Clone + Eq + Hash>(open: &mut HashMap<K, u32>, key: K, most: &mut Option<(u32, K)>) {
    let now = open.entry(key.clone()).or_default();
    *now = now.saturating_add(1);
    if most.as_ref().is_none_or(|(before, _)| *before < *now) {
        *most = Some((*now, key));
    }
}

fn lower<K: Eq + Hash>(open: &mut HashMap<K, u32>, key: K) {
    if let Entry::Occupied(mut entry) = open.entry(key) {
        match entry.get().checked_sub(1) {
            None | Some(0) => drop(entry.remove()),
            Some(left) => *entry.get_mut() = left,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_most_concurrent_connections_are_kept_and_closed_ones_leave_nothing() {
        let counters = Counters::default();
        let address = IpAddr::V4(Ipv4Addr::new(127, 1, 2, 3));
        let mut first = counters.connection(address);
        first.is_for("a.example");
        let mut second = counters.connection(address);
        second.is_for("a.example");
        drop((first, second));
        drop(counters.connection(address));
        let counts = counters.read();
        assert_eq!(counts.most_per_address, Some((2, address)));
        assert_eq!(counts.most_per_host, Some((2, "a.example".to_owned())));
        assert_eq!((counts.connections, counts.open_connections), (3, 0));
        let state = counters.lock();
        assert!(state.open_per_address.is_empty() && state.open_per_host.is_empty());
    }
}
