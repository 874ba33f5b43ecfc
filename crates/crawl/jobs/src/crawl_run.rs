//! The crawl and the stores that all jobs of a finished live crawl use.

use std::{collections::BTreeSet, sync::Arc};

use everytab_commoncrawl::crawl_layout::LiveCrawlName;
use everytab_coordinator::{Coordinator, CrawlRun, JobKind};
use everytab_fetcher::Heartbeat;
use everytab_job_result::{AssignedJob, JobError};
use everytab_storage::{PutOptions, Store};
use serde_json::Value;

use crate::context::Context;

/// Clients must revalidate index files, because they change if the crawl is indexed again.
pub(crate) const CACHE_CONTROL: &str = "no-cache";

#[derive(Debug, Clone)]
pub(crate) struct CrawlAssignment {
    pub(crate) run: i32,
    pub(crate) kind: JobKind,
    /// The number of this job's slot range, from 0. Always 0 for crawl-close.
    pub(crate) part: i32,
    pub(crate) crawl: CrawlRun,
    pub(crate) name: LiveCrawlName,
    pub(crate) heartbeat: Heartbeat,
}

impl CrawlAssignment {
    /// Returns an error if Postgres cannot be reached, or if the crawl's name is malformed.
    pub(crate) async fn load(
        coordinator: &Coordinator,
        job: AssignedJob,
        heartbeat: Heartbeat,
    ) -> Result<Self, JobError> {
        let AssignedJob { run, kind, part } = job;
        let crawl = coordinator.load_crawl_run(run).await?;
        let name = LiveCrawlName::parse(&crawl.name)
            .map_err(|error| JobError::Discard(error.to_string()))?;
        Ok(Self { run, kind, part, crawl, name, heartbeat })
    }

    pub(crate) async fn main_store(&self, context: &Context) -> Result<Arc<dyn Store>, JobError> {
        Ok(context.store(&self.crawl.store).await?)
    }

    pub(crate) async fn stores(&self, context: &Context) -> Result<Vec<Arc<dyn Store>>, JobError> {
        let mut stores = Vec::new();
        for url in store_urls(&self.crawl.store, &self.crawl.settings) {
            stores.push(context.store(&url).await?);
        }
        Ok(stores)
    }
}

/// Returns a crawl's store URLs, each once: this main store, and the stores in the settings.
pub fn store_urls(store: &str, settings: &Value) -> BTreeSet<String> {
    let ranges = settings.get("stores").and_then(Value::as_array).into_iter().flatten();
    let of_ranges = ranges.filter_map(|range| range.get("store")?.as_str());
    let of_media = settings.get("media_store").and_then(Value::as_str);
    of_ranges.chain(of_media).chain([store]).map(str::to_owned).collect()
}

pub(crate) fn put_options(content_type: &'static str) -> PutOptions {
    PutOptions::new(content_type, CACHE_CONTROL)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_store_of_the_settings_is_named_once() {
        let urls = |settings| store_urls("s3://b", &settings).into_iter().collect::<Vec<_>>();
        assert_eq!(urls(json!({})), ["s3://b"]);
        let ranges = json!([
            { "first": 0, "last": 127, "store": "s3://b" },
            { "first": 128, "last": 255, "store": "s3://a" },
        ]);
        let settings = json!({ "stores": ranges, "media_store": "s3://m" });
        assert_eq!(urls(settings), ["s3://a", "s3://b", "s3://m"]);
    }
}
