//! Reads captures from the archive: one ranged read, then a check that the bytes are the recorded
//! record.
//!
//! Invariants: this module sends requests only to the crawls' stores. At most [`MAX_READS`] records
//! are in memory. A record that does not match its row is never served. This module does not depend
//! on requests or keys.

mod contents;
mod parts;
mod record;

use std::{collections::HashMap, sync::Arc};

use everytab_commoncrawl::warc::RecordMismatch;
use everytab_coordinator::ApiFetch;
use everytab_markdown::{ConversionFailed, PagePart};
use everytab_storage::{StorageError, StorageErrorKind, Store, StoreSettings};
use tokio::sync::{Mutex, Semaphore};

use self::record::ArchivedRecord;
pub(crate) use self::{
    contents::{Contents, Include, MissingWord},
    parts::{CaptureForm, CaptureKind, CaptureParts, capture_types, has_text},
    record::MAX_RECORD_BYTES,
};

/// Maximum concurrent record reads. Each may take twice [`MAX_RECORD_BYTES`] of memory.
const MAX_READS: usize = 8;

/// Maximum open stores. A service has one, or several if crawls are divided among stores.
const MAX_STORES: usize = 64;

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    /// The row has no record, or no valid location for it.
    #[error("the row names no place of a record")]
    NoPlace,
    /// The store did not return the bytes.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// The bytes at this location are not the expected record.
    #[error(transparent)]
    Mismatch(#[from] RecordMismatch),
    /// The capture cannot be converted to Markdown.
    #[error(transparent)]
    Conversion(#[from] ConversionFailed),
    /// The process is stopping.
    #[error("the process ends")]
    Stopping,
}

impl CaptureError {
    /// Returns whether a retry may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Store(error) => error.kind() == StorageErrorKind::Unreachable,
            Self::Stopping => true,
            Self::NoPlace | Self::Mismatch(_) | Self::Conversion(_) => false,
        }
    }
}

/// The crawls' stores, each opened when first needed.
#[derive(Debug)]
pub(crate) struct Captures {
    /// The URL of the keys' store as crawls record it, and the URL from which this process reads
    /// it.
    written_to: String,
    read_from: String,
    settings: StoreSettings,
    open: Mutex<HashMap<String, Arc<dyn Store>>>,
    reads: Arc<Semaphore>,
}

/// Location of the record with a capture's body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RecordPlace<'a> {
    object: &'a str,
    offset: u64,
    length: u64,
    /// True if this is the capture's own record, so its URL must be the capture's.
    is_own: bool,
}

impl<'a> RecordPlace<'a> {
    /// Finds the record with the body. A revisit has no body of its own, so its row refers to
    /// another record. `None` if the row has no valid location.
    fn of(fetch: &'a ApiFetch) -> Option<Self> {
        let (object, offset, length, is_own) = match &fetch.body_object {
            Some(object) => (object, fetch.body_offset?, fetch.body_length?, false),
            None => (fetch.object.as_ref()?, fetch.record_offset?, fetch.record_length?, true),
        };
        let (offset, length) = (u64::try_from(offset).ok()?, u64::try_from(length).ok()?);
        let is_place = (1..=MAX_RECORD_BYTES).contains(&length);
        is_place.then_some(Self { object, offset, length, is_own })
    }
}

impl Captures {
    /// Creates the reader. `written_to` is the store's URL as crawls record it. `read_from` is the
    /// URL from which this process reads the same store.
    pub(crate) fn new(written_to: &str, read_from: &str, settings: StoreSettings) -> Self {
        Self {
            written_to: written_to.to_owned(),
            read_from: read_from.to_owned(),
            settings,
            open: Mutex::default(),
            reads: Arc::new(Semaphore::new(MAX_READS)),
        }
    }

    /// Reads a capture's record and builds the response parts.
    ///
    /// # Errors
    /// Returns an error if the row has no valid record location, if the store does not return the
    /// record, if the record does not match the row, or if it cannot be converted.
    pub(crate) async fn read(
        &self,
        fetch: ApiFetch,
        (form, content): (CaptureForm, PagePart),
    ) -> Result<CaptureParts, CaptureError> {
        self.made(fetch, move |record, fetch| Ok(record.into_parts(fetch, form, content)?)).await
    }

    /// Reads a capture's record and extracts the included parts.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Self::read`], except for a failed conversion.
    pub(crate) async fn contents(
        &self,
        fetch: ApiFetch,
        include: Include,
    ) -> Result<Contents, CaptureError> {
        self.made(fetch, move |record, fetch| Ok(record.contents(fetch, include))).await
    }

    /// Reads a capture's record and runs `make` on it in a blocking thread.
    async fn made<T: Send + 'static>(
        &self,
        fetch: ApiFetch,
        make: impl FnOnce(ArchivedRecord, &ApiFetch) -> Result<T, CaptureError> + Send + 'static,
    ) -> Result<T, CaptureError> {
        let permit = Arc::clone(&self.reads).acquire_owned().await;
        let permit = permit.map_err(|_| CaptureError::Stopping)?;
        let place = RecordPlace::of(&fetch).ok_or(CaptureError::NoPlace)?;
        let store = self.store(store_of(&fetch)).await?;
        let range = place.offset..place.offset.saturating_add(place.length);
        let bytes = store.get_range(place.object, range).await?;
        let is_own = place.is_own;
        let made = tokio::task::spawn_blocking(move || {
            // The blocking thread keeps its permit even if the client disconnects.
            let _permit = permit;
            make(ArchivedRecord::read(bytes, &fetch, is_own)?, &fetch)
        });
        made.await.map_err(|_| CaptureError::Stopping)?
    }

    async fn store(&self, url: &str) -> Result<Arc<dyn Store>, StorageError> {
        let url = if url == self.written_to { &self.read_from } else { url };
        let mut open = self.open.lock().await;
        if let Some(store) = open.get(url) {
            return Ok(Arc::clone(store));
        }
        let store = everytab_storage::open(url, &self.settings).await?;
        if open.len() >= MAX_STORES {
            open.clear();
        }
        open.insert(url.to_owned(), Arc::clone(&store));
        Ok(store)
    }
}

/// Returns a capture's store: the media store if the crawl has one and the capture is a requisite.
fn store_of(fetch: &ApiFetch) -> &str {
    match &fetch.media_store {
        Some(store) if parts::is_media(fetch) => store,
        _ => &fetch.store,
    }
}
