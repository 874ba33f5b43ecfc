//! Checks the first line of any string as a URL, and the rest as its redirect target. An accepted
//! URL must not change when it is checked again.
#![no_main]

use everytab_webpage::{
    PortList,
    address::is_public,
    url_rules::{MAX_URL_BYTES, literal_address, vet_url},
};
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (base, location) = text.split_once('\n').unwrap_or((&text, ""));
    let Some(url) = vetted(base) else { return };
    if let Ok(joined) = url.join(location) {
        vetted(joined.as_str());
    }
});

fn vetted(text: &str) -> Option<Url> {
    let ports = PortList::default();
    let url = vet_url(text, &ports).ok()?;
    assert!(url.as_str().len() <= MAX_URL_BYTES);
    assert!(matches!(url.scheme(), "http" | "https"), "{url}");
    assert!(url.port_or_known_default().is_some_and(|port| ports.contains(port)));
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
    assert!(url.host_str().is_some_and(|host| !host.is_empty()), "{url}");
    assert_eq!(vet_url(url.as_str(), &ports).as_ref(), Ok(&url));
    if let Some(address) = literal_address(&url) {
        // Every spelling of an IP address must be detected, because an address must never be passed
        // to a DNS resolver.
        let _ = is_public(address);
    } else {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        assert!(host.parse::<std::net::IpAddr>().is_err(), "{url}");
    }
    Some(url)
}
