//! Pending URLs that were submitted without a scheme. They are requested over https first, and over
//! http if https cannot be reached.

use super::{host_state::HostState, pending::PendingUrl};
use crate::{
    canonical::CanonicalUrl,
    link::{Link, LinkFlags},
    origin::Origin,
    parameters::ParameterList,
};

impl HostState {
    /// Returns http links for an origin's pending URLs that were submitted without a scheme, only
    /// once for each URL.
    pub fn over_http(&mut self, origin: Origin, parameters: &ParameterList) -> Vec<Link> {
        let pending = &self.pending;
        let mut links = Vec::new();
        self.bare.retain(|hash| {
            let Some(pending) = pending.get(hash) else { return false };
            if pending.origin() != Some(origin) {
                return true;
            }
            let mut attributes = pending.attributes;
            attributes.flags = attributes.flags.only(LinkFlags::URGENT.with(LinkFlags::SEED));
            let via = Some((&*pending.url).into());
            links.extend(with_scheme("http", &pending.url, parameters).map(|url| Link {
                url,
                attributes,
                via,
            }));
            false
        });
        links
    }

    /// Returns the pending https form of an http URL if it was submitted without a scheme.
    #[must_use]
    pub fn bare_of(&self, http_url: &str, parameters: &ParameterList) -> Option<PendingUrl> {
        let hash = with_scheme("https", http_url, parameters)?.hash();
        let pending = self.pending.get(&hash)?;
        pending.attributes.flags.contains(LinkFlags::BARE).then(|| pending.pending_url(hash))
    }
}

fn with_scheme(scheme: &str, url: &str, parameters: &ParameterList) -> Option<CanonicalUrl> {
    let (_, rest) = url.split_once("://")?;
    CanonicalUrl::parse(&format!("{scheme}://{rest}"), parameters).ok()
}

#[cfg(test)]
mod tests {
    use super::{super::pending::FinalState, *};
    use crate::{budget::SiteUsage, rules::Rules};

    fn submitted(url: &str) -> Link {
        Link::submitted(CanonicalUrl::parse(url, &ParameterList::default()).unwrap(), true, 3)
    }

    #[test]
    fn a_bare_url_is_returned_over_http_once_and_found_by_it() {
        let parameters = ParameterList::default();
        let links = [
            submitted("https://a.example/x?b=1").bare(),
            submitted("https://a.example:8443/y").bare(),
            submitted("https://a.example/z"),
        ];
        let mut state = HostState::new("a.example");
        state.merge(links, &Rules::default(), &mut SiteUsage::default());
        let packed = state.pack(crate::never_paused);
        let chunks = [packed.unwrap().bytes];
        let chunks = chunks.iter().map(Vec::as_slice);
        let mut state = HostState::unpack("a.example", chunks, &parameters).unwrap().state;
        let origin = Origin::of("https://a.example/").unwrap();
        let found = state.over_http(origin, &parameters);
        let [Link { url, attributes, via }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(url.fetched(), "http://a.example/x?b=1");
        assert_eq!(via.as_deref(), Some("https://a.example/x?b=1"));
        let flags = LinkFlags::SEED.with(LinkFlags::URGENT);
        assert_eq!((attributes.flags, attributes.priority), (flags, 3));
        assert_eq!(state.over_http(origin, &parameters), []);
        let url = |http: &str| state.bare_of(http, &parameters).map(|pending| pending.url);
        assert_eq!(url("http://a.example/x?b=1").as_deref(), Some("https://a.example/x?b=1"));
        assert_eq!(url("http://a.example/z"), None, "its scheme was submitted");
        let hash = submitted("https://a.example/x?b=1").url.hash();
        state.finish(hash, FinalState::Failed);
        assert_eq!(state.bare_of("http://a.example/x?b=1", &parameters), None);
        let other = Origin::of("https://a.example:8443/").unwrap();
        assert_eq!(state.over_http(other, &parameters).len(), 1);
    }

    #[test]
    fn a_pending_url_becomes_bare_if_another_link_is() {
        let parameters = ParameterList::default();
        let links = [submitted("https://a.example/"), submitted("https://a.example/").bare()];
        let mut state = HostState::new("a.example");
        state.merge(links, &Rules::default(), &mut SiteUsage::default());
        let origin = Origin::of("https://a.example/").unwrap();
        assert_eq!(state.over_http(origin, &parameters).len(), 1);
    }
}
