//! The result of looking up a name.

use std::{net::IpAddr, sync::Arc};

use crate::outcome::Outcome;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// All addresses are allowed.
    Addresses(Arc<[IpAddr]>),
    Failed(Outcome),
}
