//! Home pages that redirect within their host, such as `/` to `/en/`: a scan takes a tab from the
//! page to which they lead.
//!
//! Must not know: how rows are written.

use std::collections::{HashMap, HashSet};

use everytab_coordinator::{Coordinator, IndexRow};
use everytab_frontier::{CanonicalUrl, ParameterList, is_home_page};

use super::index_row::host_of;
use crate::job::JobError;

/// Redirects that are followed: as many as a crawl follows in one chain.
const MAX_REDIRECTS: usize = 5;
/// URLs that are asked for in one call.
const URLS_PER_CALL: usize = 1_000;

/// The redirects of home pages that were found.
#[derive(Debug, Default)]
pub(crate) struct HomeRedirects(Vec<Redirect>);

/// A home page and where its chain has come.
#[derive(Debug, Clone)]
struct Redirect {
    home: String,
    host_hash: u64,
    target: String,
}

impl HomeRedirects {
    /// Notes those among some fetches.
    pub(crate) fn note(&mut self, rows: &[IndexRow]) {
        let homes = rows.iter().filter(|row| is_home_page(&row.url));
        self.0.extend(homes.filter_map(|row| next_hop(&row.url, row)));
    }

    /// Takes some of them, at most [`URLS_PER_CALL`]; none are left where none come.
    pub(crate) fn take(&mut self) -> Self {
        Self(self.0.split_off(self.0.len().saturating_sub(URLS_PER_CALL)))
    }

    /// The pages to which they lead, each with the URL of its home page. Chains that leave their
    /// host, end in no page that was kept, or are too long are left out.
    ///
    /// # Errors
    /// When Postgres cannot be asked.
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
                    // A home page of its own has its own row.
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

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where a redirect leads on, if that is within the host of `home`.
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
