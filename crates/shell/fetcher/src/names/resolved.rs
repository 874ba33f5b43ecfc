//! The result of looking up a name.
//!
//! Does not depend on the resolver.

use std::{net::IpAddr, sync::Arc};

use crate::outcome::Outcome;

/// A lookup's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// At least one address. All of them are allowed.
    Addresses(Arc<[IpAddr]>),
    /// Why there is no address to dial.
    Failed(Outcome),
}
