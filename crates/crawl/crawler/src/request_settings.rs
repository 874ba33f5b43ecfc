//! Converts a crawl's settings to the fetcher's: delays, and the purposes of requests.

use std::time::Duration;

use everytab_crawl_settings::{CrawlSettings, MIN_PUBLIC_DELAY_MS, MediaOption};
use everytab_fetcher::{ContentTypes, DelaySettings, Purpose};

/// The fetcher's settings for a crawl.
pub trait RequestSettings {
    /// Returns the delays for hosts, which are at least [`MIN_PUBLIC_DELAY_MS`].
    fn delays(&self) -> DelaySettings;

    /// Returns the delays for the operator's own hosts, without a minimum.
    fn own_delays(&self) -> DelaySettings;

    /// Returns the purpose for page requests. Invalid content types are replaced by the default
    /// ones.
    fn page_purpose(&self) -> Purpose;

    /// Returns the purpose of requests for page requisites.
    fn media_purpose(&self) -> Purpose;
}

impl RequestSettings for CrawlSettings {
    fn delays(&self) -> DelaySettings {
        let delay = Duration::from_millis(self.delay_ms.max(MIN_PUBLIC_DELAY_MS));
        DelaySettings { delay, ..self.own_delays() }
    }

    fn own_delays(&self) -> DelaySettings {
        DelaySettings {
            delay: Duration::from_millis(self.delay_ms),
            factor: self.delay_factor,
            max_delay: Duration::from_millis(self.max_delay_ms),
            ..DelaySettings::default()
        }
    }

    fn page_purpose(&self) -> Purpose {
        let types = self.content_types().unwrap_or_else(|_| ContentTypes::pages());
        Purpose::page(self.max_bytes, types)
    }

    fn media_purpose(&self) -> Purpose {
        let types = match self.media {
            MediaOption::None | MediaOption::Images => ContentTypes::images(),
            MediaOption::All => ContentTypes::any(),
        };
        Purpose::media(self.media_bytes, types)
    }
}

#[cfg(test)]
mod tests {
    use everytab_fetcher::{DEFAULT_MEDIA_BYTES, DEFAULT_PAGE_BYTES, PurposeKind};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn settings(changes: Value) -> CrawlSettings {
        serde_json::from_value(changes).expect("settings")
    }

    #[test]
    fn without_options_delays_and_pages_are_the_fetchers_own() {
        assert_eq!(CrawlSettings::default().delays(), DelaySettings::default());
        assert_eq!(
            CrawlSettings::default().page_purpose(),
            Purpose::page(DEFAULT_PAGE_BYTES, ContentTypes::pages())
        );
    }

    #[test]
    fn only_the_operators_own_hosts_may_have_a_delay_below_the_minimum() {
        let quick = settings(json!({ "delay_ms": 0, "delay_factor": 0, "max_delay_ms": 10 }));
        assert_eq!(quick.check(), Ok(()));
        assert_eq!(quick.delays().delay, Duration::from_millis(250));
        assert_eq!(quick.own_delays().delay, Duration::ZERO);
        assert_eq!(quick.delays().max_delay, Duration::from_millis(10));
        assert_eq!(settings(json!({ "delay_ms": 300 })).delays().delay, Duration::from_millis(300));
    }

    #[test]
    fn purposes_have_the_types_and_bytes_of_the_settings() {
        let chosen = settings(json!({ "types": ["pdf"], "max_bytes": 9, "media": "all" }));
        let types = ContentTypes::parse("pdf").unwrap();
        assert_eq!(chosen.page_purpose(), Purpose::page(9, types));
        assert_eq!(
            chosen.media_purpose(),
            Purpose::media(DEFAULT_MEDIA_BYTES, ContentTypes::any())
        );
        let images = settings(json!({ "media": "images", "media_bytes": 7 })).media_purpose();
        assert_eq!(images, Purpose::media(7, ContentTypes::images()));
        assert_eq!(images.kind(), PurposeKind::Media);
    }

    proptest! {
        #[test]
        fn no_delay_is_below_the_minimum(
            delay_ms: u64,
            factor in -1e6..1e6_f64,
            types in prop::collection::vec("\\PC{0,12}", 0..3),
        ) {
            let settings = CrawlSettings {
                delay_ms, delay_factor: factor, types, ..CrawlSettings::default()
            };
            let _ = (settings.page_purpose(), settings.media_purpose());
            prop_assert!(settings.delays().delay >= settings.own_delays().delay);
            prop_assert!(settings.delays().delay >= Duration::from_millis(MIN_PUBLIC_DELAY_MS));
        }
    }
}
