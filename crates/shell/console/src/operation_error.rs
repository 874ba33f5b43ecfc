//! An operation's error for the operator: one line, and the errors that caused it.

use std::error::Error;

/// Why an operation failed. Any error converts into this type with the same message, so `?` works.
#[derive(Debug)]
pub struct OperationError {
    /// One line for the operator that says what failed and, if possible, what to do.
    pub message: String,
    /// Whether the options are invalid, so repeating the operation with them fails again.
    pub is_usage: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl OperationError {
    /// Creates an error for an operation that failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_usage: false, source: None }
    }

    /// Creates an error for invalid options.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_usage: true, source: None }
    }

    /// Yields the errors behind the message, direct causes first.
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
