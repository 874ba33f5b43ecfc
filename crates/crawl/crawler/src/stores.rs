//! A crawl's stores: one for all records, or one per slot range, and optionally another for page
//! requisites.

use std::sync::Arc;

use everytab_commoncrawl::crawl_layout::ArchiveSubset;
use everytab_crawl_settings::StoreRange;
use everytab_storage::{Store, StoreSettings};

pub(crate) struct CrawlStores {
    stores: Vec<Arc<dyn Store>>,
    by_slot: Vec<usize>,
    /// `None` if requisites are in the slots' stores.
    media: Option<usize>,
}

impl CrawlStores {
    /// Opens a crawl's stores. If there are no ranges, `store` is for all slots.
    ///
    /// # Errors
    /// Returns the error of the first store that cannot be opened.
    pub(crate) async fn open(
        store: &str,
        ranges: &[StoreRange],
        media: Option<&str>,
        settings: &StoreSettings,
    ) -> Result<Self, everytab_storage::StorageError> {
        let mut stores = Vec::new();
        let mut by_slot = vec![0; usize::from(u8::MAX) + 1];
        for range in ranges {
            let slots = by_slot.get_mut(usize::from(range.first)..=usize::from(range.last));
            slots.unwrap_or_default().fill(stores.len());
            stores.push(everytab_storage::open(&range.store, settings).await?);
        }
        if ranges.is_empty() {
            stores.push(everytab_storage::open(store, settings).await?);
        }
        let own = match media {
            Some(media) => {
                stores.push(everytab_storage::open(media, settings).await?);
                Some(stores.len() - 1)
            }
            None => None,
        };
        Ok(Self { stores, by_slot, media: own })
    }

    pub(crate) fn number_of(&self, slot: i16, subset: ArchiveSubset) -> usize {
        let of_slot = usize::try_from(slot).ok().and_then(|slot| self.by_slot.get(slot));
        let own = self.media.filter(|_| subset == ArchiveSubset::Media);
        own.or(of_slot.copied()).unwrap_or_default()
    }

    pub(crate) fn store(&self, number: usize) -> Option<&Arc<dyn Store>> {
        self.stores.get(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn slots_and_requisites_use_the_configured_stores() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = |name: &str| format!("file://{}/{name}", folder.path().display());
        let ranges = [
            StoreRange { first: 0, last: 127, store: url("a") },
            StoreRange { first: 128, last: 255, store: url("b") },
        ];
        let settings = StoreSettings::default();
        let media = url("media");
        let stores = CrawlStores::open(&url("a"), &ranges, Some(&media), &settings).await;
        let stores = stores.expect("stores");
        let at = |slot, subset| {
            let store = stores.store(stores.number_of(slot, subset)).expect("a store");
            store.url().rsplit('/').next().unwrap_or_default().to_owned()
        };
        let (pages, media) = (ArchiveSubset::Warc, ArchiveSubset::Media);
        assert_eq!([at(0, pages), at(127, pages), at(128, pages)], ["a", "a", "b"]);
        assert_eq!([at(0, media), at(255, media)], ["media", "media"]);
        let one = CrawlStores::open(&url("a"), &[], None, &settings).await.expect("a store");
        assert_eq!((one.number_of(255, media), one.number_of(3, pages)), (0, 0));
    }
}
