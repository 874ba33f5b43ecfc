//! Follows home pages' redirects within their host, such as `/` to `/en/`, so that a scan can use
//! the target page for the host's tab.

use std::collections::{HashMap, HashSet};

use everytab_coordinator::{Coordinator, IndexRow};
use everytab_frontier::{CanonicalUrl, ParameterList, is_home_page};
use everytab_job_result::JobError;

use super::index_row::host_of;

/// Maximum redirects that are followed. This equals a crawl's limit per redirect chain.
const MAX_REDIRECTS: usize = 5;
/// Maximum URLs in one query.
const URLS_PER_CALL: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct HomeRedirects(Vec<Redirect>);

#[derive(Debug, Clone)]
struct Redirect {
    home: String,
    host_hash: u64,
    target: String,
}

impl HomeRedirects {
    pub(crate) fn note(&mut self, rows: &[IndexRow]) {
        let homes = rows.iter().filter(|row| is_home_page(&row.url));
        self.0.extend(homes.filter_map(|row| next_hop(&row.url, row)));
    }

    pub(crate) fn take(&mut self) -> Self {
        Self(self.0.split_off(self.0.len().saturating_sub(URLS_PER_CALL)))
    }

    /// Returns the target pages, each with its home page's URL. Omits chains that leave their host,
    /// do not end at a stored page, or are too long.
    pub(crate) async fn resolve(
        self,
        coordinator: &Coordinator,
        crawl: i32,
    ) -> Result<Vec<(String, IndexRow)>, JobError> {
        let parameters = ParameterList::default();
        let mut found = Vec::new();
        let mut chains = self.0;
        for _ in 0..MAX_REDIRECTS {
            let hashed = chains.iter().filter_map(|chain| {
                let url = CanonicalUrl::parse(&chain.target, &parameters).ok()?;
                Some((chain, (chain.host_hash, url.hash().0)))
            });
            let hashed: Vec<_> = hashed.collect();
            let urls: HashSet<(u64, u64)> = hashed.iter().map(|(_, url)| *url).collect();
            let urls: Vec<_> = urls.into_iter().collect();
            let rows: HashMap<_, _> =
                coordinator.load_index_rows(crawl, &urls).await?.into_iter().collect();
            let mut next = Vec::new();
            for (chain, url) in hashed {
                let Some(row) = rows.get(&url) else { continue };
                match row.status {
                    // If the target is itself a home page, it already has its own row.
                    Some(200) if !is_home_page(&row.url) => {
                        found.push((chain.home.clone(), row.clone()));
                    }
                    _ => next.extend(next_hop(&chain.home, row)),
                }
            }
            chains = next;
        }
        Ok(found)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn next_hop(home: &str, row: &IndexRow) -> Option<Redirect> {
    let is_redirect = row.status.is_some_and(|status| (300..400).contains(&status));
    let target = row.redirect.as_ref().filter(|_| is_redirect)?;
    let is_inside = host_of(target).is_some() && host_of(target) == host_of(home);
    is_inside.then(|| Redirect {
        home: home.to_owned(),
        host_hash: row.host_hash,
        target: target.clone(),
    })
}
