//! This crate's only error type: an error's kind, whether a retry may help, and a one-line message.
//!
//! A kind's name is stable.

use std::fmt;

/// S3 also returns this code for a missing object if the credentials do not allow listing the
/// bucket.
#[cfg(any(feature = "s3", feature = "cdn"))]
pub(crate) const ACCESS_DENIED: &str = "AccessDenied";

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageErrorKind {
    /// The object does not exist.
    NotFound,
    /// The store denies access to this user, or rejects the credentials.
    Denied,
    /// A condition of the request did not hold.
    PreconditionFailed,
    /// The disk or the quota is full.
    NoSpace,
    /// There was no usable response because of the network, a timeout or an overload. Only this
    /// kind may be retried.
    Unreachable,
    /// The URL, key, range, bucket or setting is invalid and will remain so.
    Invalid,
    /// Anything else.
    Other,
}

impl StorageErrorKind {
    /// Returns the stable name, for logs and counters.
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

/// Why a store request failed: one line that names the object and, if there is one, a remedy.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {place}: {cause}")]
pub struct StorageError {
    kind: StorageErrorKind,
    action: &'static str,
    place: String,
    cause: String,
    demand: Demand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    Nothing,
    SlowDown,
    /// A pause, then fewer requests per second.
    Pause,
}

impl StorageError {
    /// `action` completes "cannot ...", `place` is a URL or path, and `cause` ends with the remedy
    /// if there is one.
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

    #[cfg(any(feature = "s3", feature = "https", feature = "cdn"))]
    pub(crate) fn demanding_less(self) -> Self {
        Self { demand: Demand::SlowDown, ..self }
    }

    #[cfg(feature = "https")]
    pub(crate) fn demanding_a_pause(self) -> Self {
        Self { demand: Demand::Pause, ..self }
    }

    pub(crate) fn demands_less(&self) -> bool {
        self.demand != Demand::Nothing
    }

    /// Returns true if the server responded only with "too fast" or "try again later".
    pub fn is_overload(&self) -> bool {
        self.kind == StorageErrorKind::Unreachable && self.demands_less()
    }

    pub(crate) fn demands_a_pause(&self) -> bool {
        self.demand == Demand::Pause
    }

    /// Returns the URL or path of the object or store.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the error's kind.
    pub fn kind(&self) -> StorageErrorKind {
        self.kind
    }

    /// Returns true if the same call may succeed later although nothing was changed.
    pub fn is_retryable(&self) -> bool {
        self.kind == StorageErrorKind::Unreachable
    }

    /// Returns true if S3 denied access to one object, rather than rejecting the credentials.
    #[cfg(feature = "s3")]
    pub(crate) fn is_access_denied(&self) -> bool {
        self.cause.starts_with(ACCESS_DENIED)
    }

    /// Returns true if the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.kind == StorageErrorKind::NotFound
    }
}

pub(crate) fn invalid_setting(url: &str, cause: impl fmt::Display) -> StorageError {
    StorageError::new(StorageErrorKind::Invalid, "open", url, cause)
}

/// Joins the messages of an error and its causes with colons. Truncates the result to 400
/// characters, because servers may send long messages.
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
