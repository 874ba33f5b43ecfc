//! Computes what one captured page costs a worker, Postgres, the network and its host. Pure.

use super::{
    crawl_rates::{
        ACKNOWLEDGED, CONNECTION_CPU, CONNECTIONS, DATABASE_CPU, DISK_OPERATIONS, FETCH_ROW_BYTES,
        FETCHES, HEAD_BYTES, KNOWN_CPU, KNOWN_LOG_BYTES, KNOWN_ROW_BYTES, LOG_BYTES, NETWORK_CPU,
        PACKED_SHARE, PACKING_CPU, PAGE_CPU, READING_CPU, RECORD_BYTES, REQUEST_SECONDS, REQUESTS,
        SENT_PACKED,
    },
    figure::{Figure, bytes, number, seconds},
};
use crate::plan::rates::{CONNECTION_BYTES_IN, CONNECTION_BYTES_OUT, REQUEST_BYTES_OUT};

/// The cost of one captured page, including its share of failed requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageUse {
    /// Uncompressed bytes of its HTML.
    pub(super) html: f64,
    /// URLs that become known per page.
    pub(super) known: f64,
    /// Seconds of a worker's core.
    pub(super) cpu: f64,
    /// Bytes received from the web.
    pub(super) received: f64,
    /// Bytes of its records in the archive.
    pub(super) stored: f64,
    /// Bytes sent to the web.
    pub(super) sent: f64,
    /// Seconds for which its host gets no other request.
    pub(super) host_seconds: f64,
    /// Seconds of a core of Postgres.
    pub(super) database_cpu: f64,
    /// Bytes of Postgres's log.
    pub(super) log: f64,
    /// Bytes that remain in Postgres.
    pub(super) rows: f64,
}

impl PageUse {
    /// Computes the cost of a page of `html` bytes, which makes `known` URLs known.
    pub(super) fn new(html: f64, known: f64) -> Self {
        // Compressed pages are received as compressed by deflate.
        let on_wire = (1.0 - SENT_PACKED) + SENT_PACKED * PACKED_SHARE;
        let received = html * on_wire + REQUESTS * HEAD_BYTES + CONNECTIONS * CONNECTION_BYTES_IN;
        let stored = html * PACKED_SHARE + RECORD_BYTES;
        // The rates measured per page include as many known URLs as were fetched.
        let more_known = (known - FETCHES).max(0.0);
        Self {
            html,
            known,
            cpu: PAGE_CPU
                + html * (PACKING_CPU + READING_CPU)
                + (received + stored) * NETWORK_CPU
                + CONNECTIONS * CONNECTION_CPU,
            received,
            stored,
            sent: REQUESTS * REQUEST_BYTES_OUT
                + CONNECTIONS * CONNECTION_BYTES_OUT
                + received * ACKNOWLEDGED,
            host_seconds: REQUESTS * REQUEST_SECONDS,
            database_cpu: DATABASE_CPU + more_known * KNOWN_CPU,
            log: LOG_BYTES + more_known * KNOWN_LOG_BYTES,
            rows: FETCHES * FETCH_ROW_BYTES + known * KNOWN_ROW_BYTES,
        }
    }

    /// Returns these numbers with their formulas.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let figure = |name, value, unit, formula| Figure { name, value, unit, formula };
        let (html, known) = (bytes(self.html), number(self.known));
        let more_known = number((self.known - FETCHES).max(0.0));
        vec![
            figure("CPU of a worker", self.cpu, "s", self.cpu_formula()),
            figure("received from the web", self.received, "bytes", self.received_formula()),
            figure(
                "archive (WARC, gzip)",
                self.stored,
                "bytes",
                format!("{html} x {PACKED_SHARE} + {}", bytes(RECORD_BYTES)),
            ),
            figure(
                "sent to the web",
                self.sent,
                "bytes",
                format!(
                    "{} requests x {REQUEST_BYTES_OUT} + {} + {} x {ACKNOWLEDGED}",
                    number(REQUESTS),
                    number(CONNECTIONS * CONNECTION_BYTES_OUT),
                    bytes(self.received)
                ),
            ),
            figure(
                "time of its host",
                self.host_seconds,
                "s",
                format!("{} requests x {REQUEST_SECONDS} s", number(REQUESTS)),
            ),
            figure(
                "CPU of Postgres",
                self.database_cpu,
                "s",
                format!("{} + {more_known} URLs x {}", seconds(DATABASE_CPU), seconds(KNOWN_CPU)),
            ),
            figure(
                "log of Postgres",
                self.log,
                "bytes",
                format!("{} + {more_known} URLs x {KNOWN_LOG_BYTES}", number(LOG_BYTES)),
            ),
            figure(
                "rows of Postgres",
                self.rows,
                "bytes",
                format!("{FETCHES} fetches x {FETCH_ROW_BYTES} + {known} URLs x {KNOWN_ROW_BYTES}"),
            ),
            figure(
                "disk operations of Postgres",
                DISK_OPERATIONS,
                "",
                "assumed, once tables are larger than memory".into(),
            ),
        ]
    }

    fn cpu_formula(&self) -> String {
        format!(
            "{} + {} x {} + {} x {} + {} connections x {}",
            seconds(PAGE_CPU),
            bytes(self.html),
            seconds(PACKING_CPU + READING_CPU),
            bytes(self.received + self.stored),
            seconds(NETWORK_CPU),
            number(CONNECTIONS),
            seconds(CONNECTION_CPU)
        )
    }

    fn received_formula(&self) -> String {
        format!(
            "{} x ({} + {SENT_PACKED} x {PACKED_SHARE}) + {}",
            bytes(self.html),
            number(1.0 - SENT_PACKED),
            bytes(REQUESTS * HEAD_BYTES + CONNECTIONS * CONNECTION_BYTES_IN)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_the_bench_takes_what_the_bench_measured() {
        let page = PageUse::new(30_000.0, FETCHES);
        // 0.69 ms over plain HTTP; TLS and reading compressed pages are added.
        let beside = 30_000.0 * READING_CPU + CONNECTIONS * CONNECTION_CPU;
        let network = (page.received + page.stored) * NETWORK_CPU;
        assert!((page.cpu - beside - network - 0.000_69).abs() < 0.000_005, "{}", page.cpu);
        assert!((page.database_cpu - 0.000_040).abs() < 1e-12);
        assert!((page.log - 1_179.0).abs() < 1e-9);
    }

    #[test]
    fn twice_the_bytes_cost_the_worker_nearly_twice_and_postgres_nothing() {
        let (one, two) = (PageUse::new(460_000.0, 6.5), PageUse::new(920_000.0, 6.5));
        assert!(two.cpu / one.cpu > 1.9 && two.cpu / one.cpu < 2.0);
        assert!((two.stored - RECORD_BYTES) / (one.stored - RECORD_BYTES) - 2.0 < 1e-9);
        assert_eq!(one.rows.to_bits(), two.rows.to_bits());
        let known = PageUse::new(460_000.0, 7.5);
        assert!((known.rows - one.rows - KNOWN_ROW_BYTES).abs() < 1e-9);
        assert!((known.log - one.log - KNOWN_LOG_BYTES).abs() < 1e-9);
    }
}
