//! The access log: one line per request, with its timing in microseconds.
//!
//! A line is written before the response's last bytes are sent, so that a client that has received
//! a response can find its line. A short response's line is written before its first bytes, because
//! a client may disconnect after the head.

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write},
    net::IpAddr,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::Instant,
};

use parking_lot::Mutex;

use crate::error::TestbedError;

/// Maximum body length that is sent in one write with the head.
const MAX_SHORT_BYTES: usize = 16 * 1_024;

/// One request. Its string form is a line with these fields, separated by tabs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AccessLine {
    /// When the request was read, in microseconds since the log was started.
    pub start_us: u64,
    /// The time just before the response's last bytes were sent (a short response's first bytes),
    /// or when the client disconnected, in microseconds since the log was started.
    pub end_us: u64,
    /// The response's status. 0 if the client disconnected before the server had a response.
    pub status: u16,
    /// The address that the client dialled.
    pub address: IpAddr,
    /// The host that the request names, in lower case.
    pub host: String,
    /// Path and query, as sent.
    pub path: String,
}

/// The destination of an access log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AccessLogTarget {
    /// Memory, with at most this many lines.
    Memory(usize),
    /// A file, which is overwritten.
    File(PathBuf),
}

impl fmt::Display for AccessLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start_us, end_us, status, address, host, path } = self;
        write!(out, "{start_us}\t{end_us}\t{status}\t{address}\t{host}\t{path}")
    }
}

impl FromStr for AccessLine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let mut fields = text.splitn(6, '\t');
            Some(Self {
                start_us: fields.next()?.parse().ok()?,
                end_us: fields.next()?.parse().ok()?,
                status: fields.next()?.parse().ok()?,
                address: fields.next()?.parse().ok()?,
                host: fields.next()?.to_owned(),
                path: fields.next()?.to_owned(),
            })
        };
        read().ok_or_else(|| format!("invalid access log line: {text:?}"))
    }
}

/// Reads an access log from a file.
///
/// # Errors
/// Returns an error if the file cannot be read, or if a line is malformed.
pub fn read_access_log(path: &Path) -> io::Result<Vec<AccessLine>> {
    let read = |line: io::Result<String>| line?.parse().map_err(io::Error::other);
    BufReader::new(File::open(path)?).lines().map(read).collect()
}

#[derive(Clone, Default)]
pub(crate) struct AccessLog(Arc<Mutex<Option<Started>>>);

struct Started {
    epoch: Instant,
    sink: Sink,
    lost: u64,
}

enum Sink {
    Memory { lines: Vec<AccessLine>, max: usize },
    File(BufWriter<File>),
}

impl AccessLog {
    pub(crate) fn start(&self, target: &AccessLogTarget) -> Result<(), TestbedError> {
        let sink = match target {
            AccessLogTarget::Memory(max) => Sink::Memory { lines: Vec::new(), max: *max },
            AccessLogTarget::File(path) => {
                let file = File::create(path).map_err(TestbedError::file(path))?;
                Sink::File(BufWriter::new(file))
            }
        };
        *self.0.lock() = Some(Started { epoch: Instant::now(), sink, lost: 0 });
        Ok(())
    }

    pub(crate) fn lines(&self) -> Vec<AccessLine> {
        match self.0.lock().as_mut().map(|started| &mut started.sink) {
            Some(Sink::Memory { lines, .. }) => lines.clone(),
            Some(Sink::File(file)) => {
                if let Err(error) = file.flush() {
                    tracing::warn!(%error, "the access log could not be written");
                }
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    pub(crate) fn lost(&self) -> u64 {
        self.0.lock().as_ref().map_or(0, |started| started.lost)
    }

    pub(crate) fn begin(&self, address: IpAddr, host: &str, path: &str) -> Option<OpenLine> {
        let epoch = self.0.lock().as_ref()?.epoch;
        let start_us = micros_since(epoch);
        let (host, path) = (host.to_owned(), path.to_owned());
        let line = AccessLine { start_us, end_us: 0, status: 0, address, host, path };
        Some(OpenLine { log: self.clone(), epoch, line, is_written: false })
    }
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("AccessLog")
    }
}

/// The line is written when the response ends, or when this value is dropped.
pub(crate) struct OpenLine {
    log: AccessLog,
    epoch: Instant,
    line: AccessLine,
    is_written: bool,
}

impl OpenLine {
    pub(crate) fn has_status(&mut self, status: u16) {
        self.line.status = status;
    }

    /// Call this before the response's first bytes are sent.
    pub(crate) fn ends_if_short(&mut self, body_bytes: usize) {
        if body_bytes <= MAX_SHORT_BYTES {
            self.ends();
        }
    }

    /// Call this before the response's last bytes are sent.
    pub(crate) fn ends(&mut self) {
        if std::mem::replace(&mut self.is_written, true) {
            return;
        }
        let mut log = self.log.0.lock();
        let of_this = |started: &&mut Started| started.epoch == self.epoch;
        let Some(started) = log.as_mut().filter(of_this) else { return };
        self.line.end_us = micros_since(started.epoch);
        let is_kept = match &mut started.sink {
            Sink::Memory { lines, max } if lines.len() < *max => {
                lines.push(self.line.clone());
                true
            }
            Sink::Memory { .. } => false,
            Sink::File(file) => writeln!(file, "{}", self.line).is_ok(),
        };
        started.lost += u64::from(!is_kept);
    }
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        self.ends();
    }
}

fn micros_since(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn memory_is_bounded_and_what_does_not_fit_is_counted() {
        let log = AccessLog::default();
        let address = IpAddr::from([127, 1, 2, 3]);
        assert!(log.begin(address, "a", "/").is_none(), "the log is off");
        log.start(&AccessLogTarget::Memory(2)).unwrap();
        for path in ["/1", "/2", "/3"] {
            log.begin(address, "a.example", path).unwrap().has_status(200);
        }
        let lines = log.lines();
        assert_eq!(lines.iter().map(|line| &line.path).collect::<Vec<_>>(), ["/1", "/2"]);
        assert!(lines.iter().all(|line| line.start_us <= line.end_us && line.status == 200));
        assert_eq!(log.lost(), 1);
        // A request from the previous log does not appear in the new log.
        let open = log.begin(address, "a.example", "/4");
        log.start(&AccessLogTarget::Memory(2)).unwrap();
        drop(open);
        assert_eq!((log.lines(), log.lost()), (Vec::new(), 0));
    }

    #[test]
    fn a_file_has_the_lines_that_were_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let log = AccessLog::default();
        log.start(&AccessLogTarget::File(path.clone())).unwrap();
        drop(log.begin([127, 0, 0, 1].into(), "a.example", "/x?y=\tz"));
        assert!(log.lines().is_empty());
        let lines = read_access_log(&path).unwrap();
        assert_eq!((lines.len(), lines[0].path.as_str()), (1, "/x?y=\tz"));
        std::fs::write(&path, "1\t2\n").unwrap();
        assert!(read_access_log(&path).is_err());
    }

    proptest! {
        #[test]
        fn a_line_is_read_back(
            start_us: u64, end_us: u64, status: u16, address: IpAddr,
            host in "[a-z.]{0,9}", path in "/[!-~\\t]{0,20}",
        ) {
            let line = AccessLine { start_us, end_us, status, address, host, path };
            prop_assert_eq!(line.to_string().parse(), Ok(line));
        }

        #[test]
        fn any_text_is_a_line_or_an_error(text in "\\PC{0,40}") {
            let _ = text.parse::<AccessLine>();
        }
    }
}
