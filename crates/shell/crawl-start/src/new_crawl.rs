//! Creates the row of a crawl.

use chrono::{DateTime, TimeDelta, Utc};
use everytab_commoncrawl::crawl_layout::{LayoutError, LiveCrawlName};
use everytab_coordinator::NewCrawl;
use everytab_crawl_settings::{CrawlSettings, CrawlSettingsError};
use uuid::Uuid;

/// The reason why a crawl cannot be submitted.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// A setting is out of bounds.
    #[error(transparent)]
    Settings(#[from] CrawlSettingsError),
    /// The time cannot be formatted as part of the crawl's name.
    #[error(transparent)]
    Time(#[from] LayoutError),
    /// The settings cannot be serialized as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Creates a crawl that starts now, with a new id, a name that contains the id's first 8 digits,
/// and checked settings.
///
/// # Errors
/// Returns an error if a setting is out of bounds, or if `now` does not fit into a name.
pub fn new_crawl(
    settings: &CrawlSettings,
    owner: &str,
    store: &str,
    now: DateTime<Utc>,
) -> Result<NewCrawl, SubmitError> {
    settings.check()?;
    let id = Uuid::new_v4();
    let name = LiveCrawlName::new(now.timestamp_micros(), id.as_fields().0)?;
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let duration = settings.duration_s.and_then(|s| TimeDelta::try_seconds(signed(s)));
    Ok(NewCrawl {
        id,
        name: name.as_str().to_owned(),
        owner: owner.to_owned(),
        store: store.to_owned(),
        settings: serde_json::to_value(settings)?,
        page_limit: settings.limit.map(signed),
        ends_at: duration.and_then(|duration| now.checked_add_signed(duration)),
        max_store_bytes: settings.max_store_bytes.map(signed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_crawl_has_its_settings_and_a_name_of_its_id() {
        let now = DateTime::from_timestamp(1_767_225_599, 0).unwrap();
        let settings = CrawlSettings {
            limit: Some(7),
            duration_s: Some(60),
            max_store_bytes: Some(9),
            ..CrawlSettings::default()
        };
        let crawl = new_crawl(&settings, "me", "file:///store", now).unwrap();
        let id = crawl.id.simple().to_string();
        assert_eq!(crawl.name, format!("LIVE-20251231235959-{}", &id[..8]));
        assert_eq!((crawl.owner.as_str(), crawl.store.as_str()), ("me", "file:///store"));
        assert_eq!((crawl.page_limit, crawl.max_store_bytes), (Some(7), Some(9)));
        assert_eq!(crawl.ends_at, Some(now + TimeDelta::seconds(60)));
        assert_eq!(serde_json::from_value::<CrawlSettings>(crawl.settings).unwrap(), settings);
        let wrong = CrawlSettings { depth: 5_000, ..settings };
        let error = new_crawl(&wrong, "me", "file:///store", now).unwrap_err();
        assert_eq!(error.to_string(), "--depth: invalid value 5000: expected 0 to 1000");
    }
}
