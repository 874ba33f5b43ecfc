//! The client, and the ways in which its methods call SQL functions.

pub(crate) mod coordinator;
pub(crate) mod patient;
pub(crate) mod sql_calls;
