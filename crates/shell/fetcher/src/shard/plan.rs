//! Plans a shard: finds its distinct URLs and groups them by origin.

use std::collections::HashMap;

use everytab_webpage::PortList;

use crate::{
    outcome::Outcome,
    request::target::Target,
    shard::{host_candidates::HostCandidates, origin_group::OriginGroup},
};

#[derive(Default)]
pub(crate) struct UrlPlan {
    pub(crate) urls: Vec<String>,
    pub(crate) url_no_of_candidate: Vec<usize>,
    /// URLs that need no request. The outcome is `None` for a `data:` URL.
    pub(crate) settled: Vec<(usize, Option<Outcome>)>,
    pub(crate) groups: Vec<OriginGroup>,
}

impl UrlPlan {
    pub(crate) fn new(hosts: &[HostCandidates], ports: &PortList) -> Self {
        let mut plan = Self::default();
        let mut url_nos: HashMap<String, usize> = HashMap::new();
        let mut group_nos: HashMap<String, usize> = HashMap::new();
        for candidate in hosts.iter().flat_map(|host| &host.candidates) {
            let is_data = candidate.url.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("data:"));
            let target = if is_data { None } else { Some(Target::first(&candidate.url, ports)) };
            // Candidates may spell the same URL differently.
            let key = match &target {
                Some(Ok(target)) => target.url.to_string(),
                _ => candidate.url.clone(),
            };
            let next = plan.urls.len();
            let url_no = *url_nos.entry(key.clone()).or_insert(next);
            plan.url_no_of_candidate.push(url_no);
            if url_no != next {
                continue;
            }
            plan.urls.push(key);
            match target {
                None => plan.settled.push((url_no, None)),
                Some(Err(outcome)) => plan.settled.push((url_no, Some(outcome))),
                Some(Ok(target)) => {
                    let groups = &mut plan.groups;
                    let group_no = *group_nos.entry(target.origin.clone()).or_insert_with(|| {
                        groups.push(OriginGroup::new(target.origin));
                        groups.len() - 1
                    });
                    plan.groups[group_no].url_nos.push(url_no);
                }
            }
        }
        plan
    }
}
