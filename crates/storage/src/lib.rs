//! Objects by name in a directory, in S3 or behind HTTPS, through one small trait.
//!
//! Owns: the [`Store`] trait and its three implementations, the errors that a store can give, and
//! the call that invalidates a CDN ([`cdn`]).
//! Invariants: an object is seen whole or not at all, whenever a writer dies; a key never reaches
//! outside its store; memory is bounded by [`StoreSettings`]; every error names the object and
//! says what to do. Must not know: what the objects mean, who asks for them, or any SQL.

pub mod cdn;

mod backoff;
mod directory;
mod error;
mod https;
mod key;
mod s3;
mod settings;
mod store;
mod update;

pub use error::{StorageError, StorageErrorKind};
pub use settings::{AccessKey, StoreSettings, open};
pub use store::{Condition, ObjectInfo, PutIf, PutOptions, Store, Tagged};
pub use update::ObjectChange;
