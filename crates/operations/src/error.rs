//! Why an operation failed, for a person: one line, and the errors that caused it.

use std::error::Error;

/// Why an operation failed.
///
/// Any error converts into one, so that `?` works; the message is then the error's own.
#[derive(Debug)]
pub struct OperationError {
    /// One line that names the input and what to do.
    pub message: String,
    /// Whether the options asked for something impossible; repeating the operation with the same
    /// options fails again.
    pub is_usage: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl OperationError {
    /// An operation that failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_usage: false, source: None }
    }

    /// An operation whose options ask for something impossible.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_usage: true, source: None }
    }

    /// The errors behind the message, the nearest one first; empty where the message is all there
    /// is.
    pub fn causes(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let first: Option<&(dyn Error + 'static)> = match &self.source {
            Some(source) => Some(&**source),
            None => None,
        };
        std::iter::successors(first, |error| (*error).source())
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for OperationError {
    fn from(error: E) -> Self {
        Self { message: error.to_string(), is_usage: false, source: Some(Box::new(error)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_what_caused_it() {
        let number = "x".parse::<u8>().unwrap_err();
        let error = OperationError::from(std::io::Error::other(number));
        assert_eq!(error.message, "invalid digit found in string");
        assert_eq!(error.causes().count(), 1);
        assert_eq!(OperationError::usage("no").causes().count(), 0);
    }
}
