//! The result of looking up a name.
//!
//! This module does not depend on the resolver.

use std::{net::IpAddr, sync::Arc};

use crate::outcome::Outcome;

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// At least one address. All of them are allowed.
    Addresses(Arc<[IpAddr]>),
    /// The outcome if there is no address to dial.
    Failed(Outcome),
}
