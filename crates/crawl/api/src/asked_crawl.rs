//! Reads a request for a new crawl or schedule: its settings, URLs and filter. The filter's current
//! version is copied into the settings, so that later changes do not affect the crawl.

use everytab_coordinator::ApiCaller;
use everytab_crawl_settings::{CrawlSettings, SeedPorts, SeedSites};
use everytab_crawl_start::{freeze_filters, list_names_of};
use everytab_filters::check_filter_name;
use everytab_frontier::Scope;

use crate::{
    crawl_settings::SettingsOfCrawl,
    problem::{Problem, ProblemCode},
    service::Service,
    submitted_urls::SubmittedUrls,
};

const FILTER: &str = "settings.filter";

#[derive(Debug)]
pub(crate) struct AskedCrawl {
    /// The filter is missing until [`Self::with_filter`] adds it.
    pub(crate) settings: CrawlSettings,
    pub(crate) urls: SubmittedUrls,
    filter: Option<String>,
}

impl AskedCrawl {
    /// Call this in a blocking thread, because checking many URLs is slow.
    ///
    /// # Errors
    /// Returns a problem that names the first setting out of bounds, or if there are too many URLs.
    pub(crate) fn read(
        service: &Service,
        settings: SettingsOfCrawl,
        (urls, mut ports): (&[String], SeedPorts),
    ) -> Result<Self, Problem> {
        let mut checked = settings.settings()?;
        let urls = SubmittedUrls::of_list(service, &mut ports, urls)?;
        if checked.scope == Scope::List {
            let mut sites = SeedSites::new(&service.suffixes);
            // All sites fit, because a request has fewer URLs than a list may have sites.
            let _ = urls.accepted.iter().all(|(_, url)| sites.insert(url));
            checked.list_sites = sites.into_hashes();
        }
        Ok(Self { settings: checked, urls, filter: settings.filter })
    }

    /// Copies the filter's current version into the settings, with the newest versions of its
    /// lists. Skips this if `is_repeated`, because the stored response will be returned.
    ///
    /// # Errors
    /// Returns a problem if the key has no such filter, or the filter cannot be used.
    pub(crate) async fn with_filter(
        mut self,
        service: &Service,
        caller: &ApiCaller,
        is_repeated: bool,
    ) -> Result<Self, Problem> {
        let Some(name) = self.filter.take().filter(|_| !is_repeated) else { return Ok(self) };
        let wrong = |detail: String| Problem::of_field(ProblemCode::InvalidSetting, FILTER, detail);
        check_filter_name(&name).map_err(wrong)?;
        let filters = service.coordinator.api_filters(caller, None, Some(&[&name])).await?;
        let lists = list_names_of(&filters);
        let lists = if lists.is_empty() {
            Vec::new()
        } else {
            let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
            service.coordinator.api_filter_lists(caller, Some(&lists)).await?
        };
        self.settings.filters =
            freeze_filters(&[name], &filters, &lists).map_err(|error| wrong(error.to_string()))?;
        Ok(self)
    }
}
