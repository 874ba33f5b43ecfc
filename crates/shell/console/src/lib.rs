//! The output lines and the errors of an operation.
//!
//! An operation writes to a [`LineSink`], and fails with an [`OperationError`].
//!
//! ```
//! use everytab_console::OperationError;
//!
//! fn port(text: &str) -> Result<u16, OperationError> {
//!     // Any error converts into an OperationError with the same message.
//!     Ok(text.parse()?)
//! }
//! assert_eq!(port("x").unwrap_err().message, "invalid digit found in string");
//! // Repeating an operation with the same options fails again.
//! assert!(OperationError::usage("--port: give a number").is_usage);
//! ```

mod line_sink;
mod operation_error;

pub use self::{line_sink::LineSink, operation_error::OperationError};
