//! Reads captures from the archive, each with one ranged read, and checks that the bytes are the
//! expected record.
//!
//! Invariants: at most [`MAX_READS`] records are read or converted at a time. A record that does
//! not match its row is never served.

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

/// Maximum concurrent record reads. Each may take about twice [`MAX_RECORD_BYTES`] of memory.
const MAX_READS: usize = 8;

/// Maximum cached stores. When this is reached, the cache is cleared.
const MAX_STORES: usize = 64;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    #[error("the fetch has no valid record location")]
    NoPlace,
    #[error(transparent)]
    Store(#[from] StorageError),
    #[error(transparent)]
    Mismatch(#[from] RecordMismatch),
    #[error(transparent)]
    Conversion(#[from] ConversionFailed),
    #[error("the read was interrupted; the service may be stopping")]
    Stopping,
}

impl CaptureError {
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Store(error) => error.kind() == StorageErrorKind::Unreachable,
            Self::Stopping => true,
            Self::NoPlace | Self::Mismatch(_) | Self::Conversion(_) => false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Captures {
    /// The store URL that the keys' crawls record, and the URL from which this process reads the
    /// same store.
    written_to: String,
    read_from: String,
    settings: StoreSettings,
    open: Mutex<HashMap<String, Arc<dyn Store>>>,
    reads: Arc<Semaphore>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RecordPlace<'a> {
    object: &'a str,
    offset: u64,
    length: u64,
    /// Whether this is the capture's own record. Its URL must then match the capture's URL.
    is_own: bool,
}

impl<'a> RecordPlace<'a> {
    /// A revisit has no body of its own, so its row refers to another record. `None` if the row has
    /// no valid location.
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
    pub(crate) fn new(written_to: &str, read_from: &str, settings: StoreSettings) -> Self {
        Self {
            written_to: written_to.to_owned(),
            read_from: read_from.to_owned(),
            settings,
            open: Mutex::default(),
            reads: Arc::new(Semaphore::new(MAX_READS)),
        }
    }

    pub(crate) async fn read(
        &self,
        fetch: ApiFetch,
        (form, content): (CaptureForm, PagePart),
    ) -> Result<CaptureParts, CaptureError> {
        self.made(fetch, move |record, fetch| Ok(record.into_parts(fetch, form, content)?)).await
    }

    pub(crate) async fn contents(
        &self,
        fetch: ApiFetch,
        include: Include,
    ) -> Result<Contents, CaptureError> {
        self.made(fetch, move |record, fetch| Ok(record.contents(fetch, include))).await
    }

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

/// Requisites are in the crawl's media store, if it has one.
fn store_of(fetch: &ApiFetch) -> &str {
    match &fetch.media_store {
        Some(store) if parts::is_media(fetch) => store,
        _ => &fetch.store,
    }
}
