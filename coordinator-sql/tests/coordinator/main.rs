//! The coordinator's behaviours against a real Postgres, one module each. Every test tries to
//! break an invariant of the design, over a database of its own.

#![allow(clippy::panic)]

mod closing;
mod complete;
mod discard;
mod fan_out;
mod fence;
mod grants;
mod lease;
mod migrate;
mod release;
mod renew;
mod retry;
mod schema;
mod select;
mod setup;
mod sweep;
