//! A crawl's stores: one for all records, or one per slot range, and optionally another for page
//! requisites.
//!
//! Does not depend on archives, or on how a store is reached.

use std::{fmt, str::FromStr, sync::Arc};

use everytab_commoncrawl::crawl_layout::ArchiveSubset;
use everytab_storage::{Store, StoreSettings};
use serde::{Deserialize, Serialize};

/// The store for sites in an inclusive range of slots. Written as `00-7f=s3://bucket`, with
/// hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreRange {
    /// The first slot. A site's slot is the first byte of its hash.
    pub first: u8,
    /// The last slot.
    pub last: u8,
    /// The store's URL.
    pub store: String,
}

/// A string is not a slot range with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a range of stores looks like 00-7f=s3://bucket: two hexadecimal digits, -, two more, =")]
pub struct StoreRangeError;

impl FromStr for StoreRange {
    type Err = StoreRangeError;

    fn from_str(text: &str) -> Result<Self, StoreRangeError> {
        let (range, store) = text.split_once('=').ok_or(StoreRangeError)?;
        let (first, last) = range.split_once('-').ok_or(StoreRangeError)?;
        let end = |digits: &str| {
            // A number with a sign can have two characters, too.
            let is_two_digits =
                digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let number = u8::from_str_radix(digits, 16).ok().filter(|_| is_two_digits);
            number.ok_or(StoreRangeError)
        };
        let (first, last) = (end(first)?, end(last)?);
        if first > last || store.is_empty() {
            return Err(StoreRangeError);
        }
        Ok(Self { first, last, store: store.to_owned() })
    }
}

impl fmt::Display for StoreRange {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:02x}-{:02x}={}", self.first, self.last, self.store)
    }
}

/// Checks that ranges name each slot exactly once, in any order.
///
/// # Errors
/// Returns an error for the first slot that no range names, or that two ranges name.
pub(crate) fn check_ranges(ranges: &[StoreRange]) -> Result<(), String> {
    for slot in 0..=u8::MAX {
        let here = |range: &&StoreRange| (range.first..=range.last).contains(&slot);
        match ranges.iter().filter(here).count() {
            1 => {}
            0 => return Err(format!("no store is given for slot {slot:02x}; give 00-ff in all")),
            _ => return Err(format!("slot {slot:02x} has two stores")),
        }
    }
    Ok(())
}

/// A crawl's opened stores.
pub(crate) struct CrawlStores {
    stores: Vec<Arc<dyn Store>>,
    /// Each slot's store, as an index.
    by_slot: Vec<usize>,
    /// The index of the requisites' store, if they have their own.
    media: Option<usize>,
}

impl CrawlStores {
    /// Opens a crawl's stores. `store` is for all slots if there are no ranges.
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

    /// Returns the store's number for a slot's records.
    pub(crate) fn number_of(&self, slot: i16, subset: ArchiveSubset) -> usize {
        let of_slot = usize::try_from(slot).ok().and_then(|slot| self.by_slot.get(slot));
        let own = self.media.filter(|_| subset == ArchiveSubset::Media);
        own.or(of_slot.copied()).unwrap_or_default()
    }

    /// Returns the store with this number.
    pub(crate) fn store(&self, number: usize) -> Option<&Arc<dyn Store>> {
        self.stores.get(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_two_hexadecimal_numbers_and_a_store() {
        let range: StoreRange = "80-fF=file:///a=b".parse().expect("a range");
        let expected = StoreRange { first: 128, last: 255, store: "file:///a=b".to_owned() };
        assert_eq!(range, expected);
        assert_eq!(range.to_string(), "80-ff=file:///a=b");
        for text in ["", "80=a", "0-f=a", "80-7f=a", "00-100=a", "00-ff=", "+1-ff=a", "s3://a"] {
            assert_eq!(text.parse::<StoreRange>(), Err(StoreRangeError), "{text}");
        }
    }

    #[test]
    fn ranges_name_each_slot_once() {
        let check = |texts: &[&str]| {
            let ranges = texts.iter().map(|text| text.parse().expect("a range"));
            check_ranges(&ranges.collect::<Vec<_>>())
        };
        assert_eq!(check(&["80-ff=a", "00-7f=b"]), Ok(()));
        let missing = check(&["00-7e=a", "80-ff=b"]).expect_err("a slot is missing");
        assert!(missing.contains("slot 7f"), "{missing}");
        assert_eq!(check(&["00-80=a", "80-ff=b"]), Err("slot 80 has two stores".to_owned()));
    }

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
