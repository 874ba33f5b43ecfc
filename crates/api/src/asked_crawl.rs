//! What a new crawl or schedule is asked for: its settings, its URLs, the filter that it names.
//!
//! Invariant: a filter is one of the key's own, and is frozen with the settings as it is now. Must
//! not know: when the crawl is started.

use everytab_coordinator::ApiCaller;
use everytab_crawler::{CrawlSettings, FrozenFilter, SeedPorts, SeedSites, list_names_of};
use everytab_filters::check_filter_name;
use everytab_frontier::Scope;

use crate::{
    crawl_settings::SettingsOfCrawl,
    problem::{Problem, ProblemCode},
    service::Service,
    submitted_urls::SubmittedUrls,
};

/// The field that names a filter.
const FILTER: &str = "settings.filter";

/// What is asked of a new crawl.
#[derive(Debug)]
pub(crate) struct AskedCrawl {
    /// Its settings, without the filter until [`Self::with_filter`].
    pub(crate) settings: CrawlSettings,
    /// Its URLs.
    pub(crate) urls: SubmittedUrls,
    filter: Option<String>,
}

impl AskedCrawl {
    /// Checks settings and URLs. It takes long where there are many.
    ///
    /// # Errors
    /// The first setting that is out of its bounds, or too many URLs.
    pub(crate) fn read(
        service: &Service,
        settings: SettingsOfCrawl,
        (urls, mut ports): (&[String], SeedPorts),
    ) -> Result<Self, Problem> {
        let mut checked = settings.settings()?;
        let urls = SubmittedUrls::of_list(service, &mut ports, urls)?;
        if checked.scope == Scope::List {
            let mut sites = SeedSites::new(&service.suffixes);
            // A request has fewer URLs than a list may have sites.
            let _ = urls.accepted.iter().all(|(_, url)| sites.insert(url));
            checked.list_sites = sites.into_hashes();
        }
        Ok(Self { settings: checked, urls, filter: settings.filter })
    }

    /// Freezes the filter with the settings, with the newest versions of the lists that it names.
    /// Takes one request where a filter is named, and one more where that names lists. Leaves the
    /// filter out for a request that will be answered as before.
    ///
    /// # Errors
    /// When the key has no such filter, or it cannot be used.
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
        self.settings.filters = FrozenFilter::freeze(&[name], &filters, &lists)
            .map_err(|error| wrong(error.to_string()))?;
        Ok(self)
    }
}
