//! Repeats an earlier crawl: finds its copy of a URL, and decides whether a record may refer to
//! this copy instead of storing an identical body again.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use everytab_commoncrawl::crawl_layout::{ArchiveName, ArchiveSubset};
use everytab_coordinator::{Coordinator, EarlierCrawl, EarlierFetch};
use everytab_crawl_settings::{CrawlSettings, DuplicatesOption};
use everytab_fetcher::Validators;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Duration, sleep},
};

/// Maximum URLs that one call looks up.
const URLS_PER_CALL: usize = 500;
/// Pause before a failed lookup is repeated.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(crate) struct Repeat {
    /// For each slot, whether both crawls use the same store for pages.
    same_pages: Vec<bool>,
    /// For each slot, whether both crawls use the same store for requisites.
    same_media: Vec<bool>,
    store_again_after: TimeDelta,
    /// Whether unchanged pages get no record.
    pub rejects: bool,
}

impl Repeat {
    /// Returns an error if this program cannot read the earlier crawl's settings.
    pub(crate) fn new(
        settings: &CrawlSettings,
        store: &str,
        earlier: &EarlierCrawl,
    ) -> Result<Self, serde_json::Error> {
        let before: CrawlSettings = serde_json::from_value(earlier.settings.clone())?;
        let same = |is_media| {
            let slots = 0..=u8::MAX;
            let is_same = |slot| {
                settings.store_of(store, slot, is_media)
                    == before.store_of(&earlier.store, slot, is_media)
            };
            slots.map(is_same).collect()
        };
        Ok(Self {
            same_pages: same(false),
            same_media: same(true),
            store_again_after: settings.store_again_after(),
            rejects: settings.duplicates == DuplicatesOption::Reject,
        })
    }

    /// The copy must be in the same kind of archive, in the same store, and not too old.
    pub(crate) fn may_name(
        &self,
        copy: &EarlierFetch,
        (slot, is_media): (i16, bool),
        now: DateTime<Utc>,
    ) -> bool {
        // If this URL was a sitemap in the earlier crawl, or did not have the status 200, its
        // record is in an archive of another subset, which a crawler may not be able to read.
        let wanted = if is_media { ArchiveSubset::Media } else { ArchiveSubset::Warc };
        let subset = ArchiveName::parse(&copy.body_object).ok().map(|name| name.subset());
        if subset != Some(wanted) {
            return false;
        }
        let same = if is_media { &self.same_media } else { &self.same_pages };
        let is_same = usize::try_from(slot).ok().and_then(|slot| same.get(slot));
        is_same == Some(&true) && now - copy.body_at < self.store_again_after
    }
}

pub(crate) fn validators_of(copy: &EarlierFetch) -> Validators {
    let (etag, last_modified) = (copy.etag.clone(), copy.last_modified.clone());
    Validators { etag, last_modified }
}

#[derive(Debug)]
pub(crate) enum BodySource {
    Own,
    /// An earlier copy's record, because its digest is identical.
    Identical(Box<EarlierFetch>),
    /// An earlier copy's record, because the server responded with 304.
    NotModified(Box<EarlierFetch>),
}

impl BodySource {
    pub(crate) fn copy(&self) -> Option<&EarlierFetch> {
        match self {
            Self::Own => None,
            Self::Identical(copy) | Self::NotModified(copy) => Some(copy),
        }
    }
}

pub(crate) struct EarlierFetchRequest {
    crawl: i32,
    hashes: (u64, u64),
    reply: oneshot::Sender<Option<EarlierFetch>>,
}

/// Lookups that arrive while a call is in flight share the next call.
#[derive(Debug, Clone)]
pub(crate) struct EarlierFetches(mpsc::UnboundedSender<EarlierFetchRequest>);

impl EarlierFetches {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<EarlierFetchRequest>) {
        let (sender, requests) = mpsc::unbounded_channel();
        (Self(sender), requests)
    }

    /// `hashes` are those of the host and the URL.
    pub(crate) async fn of(&self, crawl: i32, hashes: (u64, u64)) -> Option<EarlierFetch> {
        let (reply, replied) = oneshot::channel();
        self.0.send(EarlierFetchRequest { crawl, hashes, reply }).ok()?;
        replied.await.ok()?
    }
}

pub(crate) async fn serve_lookups(
    coordinator: Coordinator,
    mut requests: mpsc::UnboundedReceiver<EarlierFetchRequest>,
) {
    let mut received = Vec::new();
    while requests.recv_many(&mut received, URLS_PER_CALL).await > 0 {
        let mut by_crawl: HashMap<i32, Vec<EarlierFetchRequest>> = HashMap::new();
        for request in received.drain(..) {
            by_crawl.entry(request.crawl).or_default().push(request);
        }
        for (crawl, requests) in by_crawl {
            let hashes: Vec<(u64, u64)> = requests.iter().map(|one| one.hashes).collect();
            let found: HashMap<_, _> = loop {
                match coordinator.earlier_fetches(crawl, &hashes).await {
                    Ok(found) => break found.into_iter().collect(),
                    // The slots are lost, or the process is stopping.
                    Err(_) if requests.iter().all(|one| one.reply.is_closed()) => {
                        break HashMap::new();
                    }
                    Err(error) => {
                        let what = "cannot look up earlier captures; retrying";
                        tracing::warn!(crawl, %error, "{what}");
                        sleep(RETRY_PAUSE).await;
                    }
                }
            };
            for EarlierFetchRequest { hashes, reply, .. } in requests {
                // The fetch task may have been cancelled.
                reply.send(found.get(&hashes).cloned()).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use everytab_crawl_settings::StoreRange;

    use super::*;

    fn copy(age: TimeDelta) -> EarlierFetch {
        EarlierFetch {
            bytes: Some(3),
            sha256: [7; 32],
            mime: None,
            charset: None,
            language: None,
            title: None,
            etag: Some("\"a\"".to_owned()),
            last_modified: None,
            body_url: "https://a.test/".to_owned(),
            body_hashes: (1, 2),
            body_at: Utc::now() - age,
            body_object: object("warc"),
            body_offset: 0,
            body_length: 1,
        }
    }

    fn object(subset: &str) -> String {
        format!(
            "crawl-data/LIVE-20260131120000-0a1b2c3d/segments/0/{subset}/\
             LIVE-20260131120000-0a1b2c3d-w-1.warc.gz"
        )
    }

    #[test]
    fn a_copy_can_be_referenced_in_the_same_store_until_it_is_too_old() {
        let settings = CrawlSettings { store_again_after_s: 60, ..CrawlSettings::default() };
        let range = |first, last, store: &str| StoreRange { first, last, store: store.to_owned() };
        let before = CrawlSettings {
            stores: vec![range(0, 127, "s3://a"), range(128, 255, "s3://b")],
            media_store: Some("s3://media".to_owned()),
            ..CrawlSettings::default()
        };
        let earlier = EarlierCrawl {
            store: "s3://a".to_owned(),
            settings: serde_json::to_value(&before).expect("settings"),
        };
        let repeat = Repeat::new(&settings, "s3://a", &earlier).expect("a repetition");
        let now = Utc::now();
        let fresh = copy(TimeDelta::seconds(30));
        assert!(repeat.may_name(&fresh, (127, false), now));
        assert!(!repeat.may_name(&fresh, (128, false), now), "it is in another store");
        let of_subset = |subset| EarlierFetch { body_object: object(subset), ..fresh.clone() };
        for subset in ["media", "crawldiagnostics", "robotstxt"] {
            assert!(!repeat.may_name(&of_subset(subset), (127, false), now), "{subset}");
        }
        let requisite = of_subset("media");
        assert!(!repeat.may_name(&requisite, (0, true), now), "requisites had another store");
        let same = CrawlSettings { media_store: before.media_store.clone(), ..settings.clone() };
        let same = Repeat::new(&same, "s3://a", &earlier).expect("a repetition");
        assert!(same.may_name(&requisite, (0, true), now));
        assert!(!repeat.may_name(&copy(TimeDelta::seconds(61)), (0, false), now), "it is old");
        let unreadable =
            EarlierCrawl { settings: serde_json::json!({ "colour": "green" }), ..earlier };
        assert!(Repeat::new(&settings, "s3://a", &unreadable).is_err());
    }
}
