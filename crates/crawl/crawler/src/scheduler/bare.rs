//! Handles seeds that were submitted without a scheme. They get https. If no TLS connection can be
//! made, the http URL is requested, too.
//!
//! The https URL stays pending until http has responded, because the outage may be short, and
//! because http may redirect to https. Both URLs get a row.

use std::sync::Arc;

use everytab_coordinator::FetchRow;
use everytab_fetcher::Outcome;
use everytab_frontier::{CanonicalUrl, FinalState, Origin, PendingUrl};

use crate::scheduler::state::Scheduler;

impl Scheduler {
    pub(super) fn fall_back_to_http(&mut self, host_hash: u64, crawl: i32) {
        let Some(host) = self.state.hosts.get(&host_hash) else { return };
        let context = Arc::clone(&self.context);
        for (origin, _) in host.origins.without_https() {
            let links = self
                .state_of(crawl, host_hash, |state| state.over_http(origin, &context.parameters));
            self.merge_links(crawl, links.unwrap_or_default());
        }
    }

    /// Returns the https URL that this http result replaces, with its last outcome. `None` if http
    /// did not respond, or redirects to the https URL.
    pub(super) fn superseded_by(&self, row: &FetchRow) -> Option<(PendingUrl, Outcome)> {
        let is_over_http = row.url.starts_with("http://");
        let is_forbidden = row.outcome == Outcome::RobotsDisallowed.as_str();
        if !is_over_http || row.status.is_none() && !is_forbidden {
            return None;
        }
        let parameters = &self.context.parameters;
        let without_https = self.state.hosts.get(&row.host_hash)?.origins.without_https();
        if without_https.is_empty() {
            return None;
        }
        let pending = self.known_in(row.crawl, row.host_hash)?.bare_of(&row.url, parameters)?;
        let origin = Origin::of(&pending.url)?;
        let (_, outcome) = without_https.into_iter().find(|(of, _)| *of == origin)?;
        let target = row.redirect.as_deref().map(|url| CanonicalUrl::parse(url, parameters));
        let is_target = target.and_then(Result::ok).is_some_and(|url| url.hash() == pending.hash);
        (!is_target).then_some((pending, outcome))
    }

    pub(super) fn end_superseded(
        &mut self,
        (host_hash, crawl): (u64, i32),
        (pending, outcome): (PendingUrl, Outcome),
    ) {
        let Some((crawl, _)) = self.state.crawls.get(&crawl) else { return };
        let crawl = Arc::clone(crawl);
        self.record_without_request(
            host_hash,
            &crawl,
            &pending,
            (FinalState::Failed, outcome.as_str()),
        );
    }
}
