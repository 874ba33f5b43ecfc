//! The identity of a scan or a crawling process: its site's URL, a contact, and the User-Agent with
//! both.

use std::net::IpAddr;

use everytab_console::OperationError;
use everytab_jobs::scan_settings::Internet;
use url::{Host, Url};

/// The robot's name and version, as sites see them. In robots.txt, the part before the slash names
/// the robot.
const ROBOT: &str = "EveryTabBot/1.0";
const ROBOT_PAGE: &str = "bot.html";
/// Domains that cannot be registered (RFC 2606, RFC 6761).
const RESERVED_DOMAINS: [&str; 7] =
    ["example", "test", "invalid", "localhost", "example.com", "example.net", "example.org"];

/// Returns a scan's User-Agent. `None` without a URL or a contact, which is allowed only for the
/// small internet.
///
/// # Errors
/// Returns an error for the public internet if the URL or the contact is missing or cannot exist.
pub fn user_agent(
    internet: Internet,
    site_url: Option<&str>,
    contact: Option<&str>,
) -> Result<Option<String>, OperationError> {
    if internet != Internet::Small {
        let site_url = site_url.ok_or_else(|| missing("--site-url URL", "EVERYTAB_SITE_URL"))?;
        let contact = contact.ok_or_else(|| missing("--contact ADDRESS", "EVERYTAB_CONTACT"))?;
        check("--site-url", site_url, host_of_url(site_url))?;
        check("--contact", contact, host_of_contact(contact))?;
    }
    let (Some(site_url), Some(contact)) = (site_url, contact) else { return Ok(None) };
    let slash = if site_url.ends_with('/') { "" } else { "/" };
    Ok(Some(format!("{ROBOT} (+{site_url}{slash}{ROBOT_PAGE}; {contact})")))
}

/// Returns a crawling process's User-Agent: `own_user_agent`, or one with site and contact. `None`
/// as for [`user_agent`].
///
/// # Errors
///
/// Returns an error for the public internet if this User-Agent does not tell site owners whom to
/// contact.
pub fn of_process(
    internet: Internet,
    own_user_agent: Option<&str>,
    site_url: Option<&str>,
    contact: Option<&str>,
) -> Result<Option<String>, OperationError> {
    let Some(own) = own_user_agent else { return user_agent(internet, site_url, contact) };
    if internet != Internet::Small {
        check_user_agent(own)?;
    }
    Ok(Some(own.to_owned()))
}

/// Checks that a User-Agent contains a URL or an email address, and that each can exist.
///
/// # Errors
/// Returns an error that names the invalid address, or reports that there is none.
pub fn check_user_agent(user_agent: &str) -> Result<(), OperationError> {
    let parts = user_agent.split([' ', ';', ',', '(', ')', '<', '>']);
    let parts = parts.map(|part| part.trim_start_matches('+'));
    let contacts: Vec<&str> =
        parts.filter(|part| part.contains("://") || part.contains('@')).collect();
    if contacts.is_empty() {
        return Err(OperationError::usage(format!(
            "--user-agent {user_agent:?}: it names neither a page nor a mail address, and owners \
             of sites must be able to find out who sends requests; write NAME/1.0 \
             (+https://your.page/; you@your.page), or give --site-url and --contact"
        )));
    }
    for contact in contacts {
        check("--user-agent", contact, host_of_contact(contact))?;
    }
    Ok(())
}

fn missing(option: &str, variable: &str) -> OperationError {
    OperationError::usage(format!(
        "requests go to strangers' servers, and their owners must be able to find out who sends \
         them: give {option} (or {variable}); the site's address and a contact appear in the \
         User-Agent and on the page about the robot. If all sites are on your own network, \
         --internet small needs neither, and only sends requests to addresses in --allow-range"
    ))
}

fn check(option: &str, given: &str, host: Option<String>) -> Result<(), OperationError> {
    let refused = |reason: &str| {
        OperationError::usage(format!(
            "{option} {given}: {reason}; give one of your own, at which the owners of sites \
             can reach you"
        ))
    };
    let Some(host) = host else { return Err(refused("it does not contain a host")) };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if host.parse::<IpAddr>().is_ok() || !host.contains('.') && !is_reserved(&host) {
        return Err(refused("it has no domain name"));
    }
    if is_reserved(&host) {
        return Err(refused("the name is reserved, so nobody can be reached there"));
    }
    Ok(())
}

fn is_reserved(host: &str) -> bool {
    RESERVED_DOMAINS.iter().any(|domain| {
        host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })
}

fn host_of_url(text: &str) -> Option<String> {
    match Url::parse(text).ok()?.host()?.to_owned() {
        Host::Domain(name) => Some(name),
        Host::Ipv4(address) => Some(address.to_string()),
        Host::Ipv6(address) => Some(address.to_string()),
    }
}

fn host_of_contact(text: &str) -> Option<String> {
    match text.split_once('@') {
        Some((_, host)) if !text.contains("://") => Some(host.to_owned()),
        _ => host_of_url(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(site_url: Option<&str>, contact: Option<&str>) -> Result<String, String> {
        user_agent(Internet::Public, site_url, contact)
            .map(Option::unwrap)
            .map_err(|error| error.message)
    }

    #[test]
    fn the_user_agent_names_the_page_about_the_robot_and_the_contact() {
        assert_eq!(
            public(Some("https://tabs.page/"), Some("bot@tabs.page")).unwrap(),
            "EveryTabBot/1.0 (+https://tabs.page/bot.html; bot@tabs.page)"
        );
        assert_eq!(
            public(Some("https://tabs.page/all/"), Some("https://tabs.page/write")).unwrap(),
            "EveryTabBot/1.0 (+https://tabs.page/all/bot.html; https://tabs.page/write)"
        );
    }

    #[test]
    fn the_public_internet_is_not_asked_without_an_address_and_a_contact() {
        let (site, contact) = (Some("https://tabs.page/"), Some("bot@tabs.page"));
        let missing_site = public(None, contact).unwrap_err();
        assert!(missing_site.contains("--site-url") && missing_site.contains("EVERYTAB_SITE_URL"));
        let missing_contact = public(site, None).unwrap_err();
        assert!(missing_contact.contains("--contact"), "{missing_contact}");
        assert!(user_agent(Internet::Small, None, None).unwrap().is_none());
        let both = user_agent(Internet::Small, site, contact).unwrap();
        assert!(both.is_some_and(|agent| agent.contains("tabs.page")));
    }

    #[test]
    fn a_process_is_named_by_its_own_user_agent_or_by_the_site_and_the_contact() {
        let of = |own, site, contact| {
            of_process(Internet::Public, own, site, contact).map_err(|error| error.message)
        };
        let made = of(None, Some("https://tabs.page/"), Some("bot@tabs.page")).unwrap().unwrap();
        check_user_agent(&made).unwrap();
        for own in [made.as_str(), "Bot/1.0 (+https://tabs.page/bot)", "Bot/1.0 (me@tabs.page)"] {
            assert_eq!(of(Some(own), None, None), Ok(Some(own.to_owned())));
        }
        assert!(of(None, None, None).unwrap_err().contains("--site-url"));
        for (own, named) in [
            ("Bot/1.0", "Bot/1.0"),
            ("EveryTabBot/1.0 (+https://everytab.example/bot.html)", "reserved"),
            ("Bot/1.0 (+https://tabs.page/bot; me@example.com)", "me@example.com"),
            ("Bot/1.0 (+http://192.0.2.1/)", "domain name"),
            ("Bot/1.0 (+https://)", "host"),
        ] {
            let error = of(Some(own), None, None).unwrap_err();
            assert!(error.contains("--user-agent") && error.contains(named), "{error}");
        }
        let small = of_process(Internet::Small, Some("Bot/1.0"), None, None).unwrap();
        assert_eq!(small.as_deref(), Some("Bot/1.0"));
        assert_eq!(of_process(Internet::Small, None, None, None).unwrap(), None);
    }

    #[test]
    fn names_that_nobody_can_own_are_refused() {
        let reserved = [
            "https://everytab.example/",
            "https://a.test/",
            "https://tabs.invalid./",
            "http://localhost:8080/",
            "https://www.example.com/",
            "https://EXAMPLE.org/",
        ];
        for site in reserved {
            let error = public(Some(site), Some("bot@tabs.page")).unwrap_err();
            assert!(error.contains(site) && error.contains("reserved"), "{error}");
        }
        for site in ["https://192.0.2.1/", "https://[2001:db8::1]/", "https://intranet/"] {
            let error = public(Some(site), Some("bot@tabs.page")).unwrap_err();
            assert!(error.contains("domain name"), "{error}");
        }
        for contact in ["me@everytab.example", "me@example.net", "https://tabs.test/write"] {
            let error = public(Some("https://tabs.page/"), Some(contact)).unwrap_err();
            assert!(error.contains(contact), "{error}");
        }
        for site in ["https://notexample.com/", "https://example.com.page/", "https://test.page/"] {
            public(Some(site), Some("bot@tabs.page")).unwrap();
        }
    }
}
