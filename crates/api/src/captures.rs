//! Reads captures out of the archive: one ranged read, and the check that what is there is the
//! record that was recorded.
//!
//! Invariants: this process asks the stores of crawls and nothing else; at most
//! [`MAX_READS`] records are in memory; a record that is not the one of the row is never served.
//! Must not know: requests, keys.

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

/// Records that are read at a time. Each may take twice [`MAX_RECORD_BYTES`] of memory.
const MAX_READS: usize = 8;

/// Stores that are kept open. A service has one, or some where crawls are divided among stores.
const MAX_STORES: usize = 64;

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    /// The row has no record, or a place that cannot be one.
    #[error("the row names no place of a record")]
    NoPlace,
    /// The store did not give the bytes.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// Another record is in its place, or none.
    #[error(transparent)]
    Mismatch(#[from] RecordMismatch),
    /// It is not Markdown, and cannot be made so.
    #[error(transparent)]
    Conversion(#[from] ConversionFailed),
    /// The process ends.
    #[error("the process ends")]
    Stopping,
}

impl CaptureError {
    /// Whether another try may help.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Store(error) => error.kind() == StorageErrorKind::Unreachable,
            Self::Stopping => true,
            Self::NoPlace | Self::Mismatch(_) | Self::Conversion(_) => false,
        }
    }
}

/// The stores of crawls, opened when they are first needed.
#[derive(Debug)]
pub(crate) struct Captures {
    /// The store of the keys' crawls as crawls name it, and as this process reads it.
    written_to: String,
    read_from: String,
    settings: StoreSettings,
    open: Mutex<HashMap<String, Arc<dyn Store>>>,
    reads: Arc<Semaphore>,
}

/// Where the record is that has the body of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RecordPlace<'a> {
    object: &'a str,
    offset: u64,
    length: u64,
    /// True for the record of the capture itself, which has its URL.
    is_own: bool,
}

impl<'a> RecordPlace<'a> {
    /// A revisit has no body of its own: another record has it.
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
    /// Makes the reader. `written_to` is what crawls name, `read_from` the same store where this
    /// process reads it.
    pub(crate) fn new(written_to: &str, read_from: &str, settings: StoreSettings) -> Self {
        Self {
            written_to: written_to.to_owned(),
            read_from: read_from.to_owned(),
            settings,
            open: Mutex::default(),
            reads: Arc::new(Semaphore::new(MAX_READS)),
        }
    }

    /// Reads the record of a capture and makes the answer of it.
    ///
    /// # Errors
    /// When the store does not give it, or it is not the record of the row.
    pub(crate) async fn read(
        &self,
        fetch: ApiFetch,
        (form, content): (CaptureForm, PagePart),
    ) -> Result<CaptureParts, CaptureError> {
        self.made(fetch, move |record, fetch| Ok(record.into_parts(fetch, form, content)?)).await
    }

    /// Reads the record of a capture and makes of it what is included.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) async fn contents(
        &self,
        fetch: ApiFetch,
        include: Include,
    ) -> Result<Contents, CaptureError> {
        self.made(fetch, move |record, fetch| Ok(record.contents(fetch, include))).await
    }

    /// Reads the record of a capture, and makes something of it in a thread that may take long.
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
            // A client that goes away does not make room while this thread works.
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

/// The store of a capture: that of requisites where the crawl has one of its own for them.
fn store_of(fetch: &ApiFetch) -> &str {
    match &fetch.media_store {
        Some(store) if parts::is_media(fetch) => store,
        _ => &fetch.store,
    }
}
