//! The one error of this crate: its kind, whether another try may help, and one line for a person.
//!
//! Invariants: kinds are stable strings; the line names the object or store and what to do.

use std::fmt;

/// S3's answer to a request that the credentials do not allow. It is also the answer for a missing
/// object if they do not allow to list the bucket.
#[cfg(any(feature = "s3", feature = "cdn"))]
pub(crate) const ACCESS_DENIED: &str = "AccessDenied";

/// What went wrong, from a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageErrorKind {
    /// There is no such object.
    NotFound,
    /// The store refuses this user, or does not accept the credentials.
    Denied,
    /// A condition of the request did not hold.
    PreconditionFailed,
    /// The disk or the quota is full.
    NoSpace,
    /// No usable answer came: network, timeout, overload. Only this kind is worth another try.
    Unreachable,
    /// The URL, key, range, bucket or setting is wrong and stays wrong.
    Invalid,
    /// Anything else.
    Other,
}

impl StorageErrorKind {
    /// The stable name, for logs and counters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::PreconditionFailed => "precondition_failed",
            Self::NoSpace => "no_space",
            Self::Unreachable => "unreachable",
            Self::Invalid => "invalid",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for StorageErrorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Why a store did not do what the caller asked: one line that names the object and what to do.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {place}: {cause}")]
pub struct StorageError {
    kind: StorageErrorKind,
    action: &'static str,
    place: String,
    cause: String,
    demand: Demand,
}

/// What a refusing server demands of later requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    Nothing,
    /// Fewer requests a second.
    SlowDown,
    /// A pause, then fewer requests a second.
    Pause,
}

impl StorageError {
    /// `action` completes "cannot ..."; `place` is a URL or path; `cause` ends with the remedy.
    pub(crate) fn new(
        kind: StorageErrorKind,
        action: &'static str,
        place: impl Into<String>,
        cause: impl fmt::Display,
    ) -> Self {
        Self {
            kind,
            action,
            place: one_line(&place.into()),
            cause: one_line(&cause.to_string()),
            demand: Demand::Nothing,
        }
    }

    /// The same error of a server that is asked for more than it bears.
    #[cfg(any(feature = "s3", feature = "https", feature = "cdn"))]
    pub(crate) fn demanding_less(self) -> Self {
        Self { demand: Demand::SlowDown, ..self }
    }

    /// The same error of a server that wants no request for a while.
    #[cfg(feature = "https")]
    pub(crate) fn demanding_a_pause(self) -> Self {
        Self { demand: Demand::Pause, ..self }
    }

    /// True if the server said that it is asked for more than it bears.
    pub(crate) fn demands_less(&self) -> bool {
        self.demand != Demand::Nothing
    }

    /// True if the server is busy: no answer but one that says "too fast" or "try again later".
    pub fn is_overload(&self) -> bool {
        self.kind == StorageErrorKind::Unreachable && self.demands_less()
    }

    /// True if the server wants no request for a while.
    pub(crate) fn demands_a_pause(&self) -> bool {
        self.demand == Demand::Pause
    }

    /// The URL or path of the object or store.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What went wrong.
    pub fn kind(&self) -> StorageErrorKind {
        self.kind
    }

    /// True if the same call may succeed later although nothing is changed.
    pub fn is_retryable(&self) -> bool {
        self.kind == StorageErrorKind::Unreachable
    }

    /// True if S3 denied one object rather than the credentials.
    #[cfg(feature = "s3")]
    pub(crate) fn is_access_denied(&self) -> bool {
        self.cause.starts_with(ACCESS_DENIED)
    }

    /// True if there is no such object.
    pub fn is_not_found(&self) -> bool {
        self.kind == StorageErrorKind::NotFound
    }
}

/// Why a store at this URL is not opened: the URL or a setting is wrong.
pub(crate) fn refused(url: &str, cause: impl fmt::Display) -> StorageError {
    StorageError::new(StorageErrorKind::Invalid, "open", url, cause)
}

/// The messages of an error and of its causes, each once, joined by colons. The text is cut at
/// 400 characters, because servers may send long ones.
#[cfg(any(feature = "s3", feature = "https", feature = "cdn"))]
pub(crate) fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let message = inner.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        source = inner.source();
    }
    one_line(&text).chars().take(400).collect()
}

fn one_line(text: &str) -> String {
    text.split(|character: char| character.is_control())
        .filter(|part| !part.trim().is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_that_names_the_place() {
        let error =
            StorageError::new(StorageErrorKind::Denied, "read", "s3://b/k\n", "no\r\n\x1b[31mway");
        assert_eq!(error.to_string(), "cannot read s3://b/k: no [31mway");
        assert!(!error.is_retryable());
    }

    #[test]
    fn kinds_keep_their_names() {
        use StorageErrorKind as Kind;
        let kinds = [
            Kind::NotFound,
            Kind::Denied,
            Kind::PreconditionFailed,
            Kind::NoSpace,
            Kind::Unreachable,
            Kind::Invalid,
            Kind::Other,
        ];
        let names: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        let expected = "not_found denied precondition_failed no_space unreachable invalid other";
        assert_eq!(names.join(" "), expected);
    }
}
