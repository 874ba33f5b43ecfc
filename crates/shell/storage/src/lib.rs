//! Objects by name in a directory, in S3 or over HTTPS, through one small trait.
//!
//! An object is visible completely or not at all, even if a writer is killed. A key never leads
//! outside its store.
//!
//! ```
//! use everytab_storage::{ObjectChange, PutOptions, StorageError, StoreSettings, Tagged, open};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), StorageError> {
//! let folder = tempfile::tempdir().expect("the temporary directory can be written");
//! let url = format!("file://{}", folder.path().display());
//! let store = open(&url, &StoreSettings::default()).await?;
//! let options = PutOptions::new("text/plain; charset=utf-8", "no-store");
//! store.put("greeting.txt", "hello".into(), options).await?;
//!
//! // Appends a line. If another writer is faster, this reads the object again and retries.
//! let length = store
//!     .update("greeting.txt", options, async |before: Option<Tagged>| {
//!         let mut text = before.map(|tagged| tagged.bytes.to_vec()).unwrap_or_default();
//!         text.extend(b", world");
//!         let length = text.len();
//!         Ok::<_, StorageError>(ObjectChange::Write(text.into(), length))
//!     })
//!     .await?;
//! assert_eq!(length, 12);
//! assert_eq!(store.get_range("greeting.txt", 7..12).await?, "world");
//! # Ok(())
//! # }
//! ```
//!
//! Cargo features, all on by default: `s3` and `https` for stores of these schemes (without the
//! feature [`open`] rejects the scheme and names the feature), and `cdn` for the modules `cdn` and
//! `account`. Without them no AWS crate is compiled.

#[cfg(feature = "cdn")]
pub mod account;
#[cfg(not(feature = "cdn"))]
#[path = "no_account.rs"]
pub mod account;
#[cfg(feature = "cdn")]
pub mod cdn;
#[cfg(not(feature = "cdn"))]
#[path = "no_cdn.rs"]
pub mod cdn;

mod adaptive_rate;
#[cfg(feature = "cdn")]
mod aws_api;
#[cfg(any(feature = "s3", feature = "cdn"))]
mod aws_error;
mod backoff;
mod directory;
mod error;
#[cfg(feature = "https")]
mod https;
mod key;
mod open;
#[cfg(feature = "s3")]
mod s3;
mod settings;
mod store;
mod update;

pub use adaptive_rate::{AdaptiveRate, REJECTION_PAUSE};
pub use error::{StorageError, StorageErrorKind};
pub use open::open;
pub use settings::{AccessKey, AwsSettings, PRODUCT, StoreSettings};
pub use store::{Condition, ObjectInfo, OldVersion, PutIf, PutOptions, Store, Tagged};
pub use update::ObjectChange;
