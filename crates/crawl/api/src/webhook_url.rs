//! Rejects webhook URLs that workers would always reject, so that the client gets the error
//! immediately. Workers check each URL and its addresses whenever they send an event.

use everytab_webpage::{
    PortList,
    address::Guard,
    url_rules::{Refusal, literal_address, vet_url},
};
use url::Url;

use crate::problem::{Problem, ProblemCode};

const FIELD: &str = "url";

/// Returns a webhook's URL in the form in which it is requested.
///
/// # Errors
/// Returns a problem if the URL is malformed or too long, or if events are never sent there because
/// of its scheme, port, credentials, fragment or literal address.
pub(crate) fn webhook_url(text: &str, ports: &PortList, guard: &Guard) -> Result<String, Problem> {
    let invalid = |detail: &str| Problem::of_field(ProblemCode::InvalidUrl, FIELD, detail);
    let url = vet_url(text, ports).map_err(|refusal| match refusal {
        Refusal::Port => Problem::of_field(ProblemCode::PortNotAllowed, FIELD, refusal),
        Refusal::TooLong | Refusal::Unparsable | Refusal::Scheme => invalid(&refusal.to_string()),
    })?;
    let given = Url::parse(text).map_err(|error| invalid(&error.to_string()))?;
    if !given.username().is_empty() || given.password().is_some() {
        return Err(invalid("the URL has a user name or password; remove it"));
    }
    if given.fragment().is_some() {
        return Err(invalid("the URL has a fragment; remove it"));
    }
    let address = literal_address(&url);
    if address.is_some_and(|address| !guard.allows(address)) {
        return Err(invalid("the URL's address is not public"));
    }
    // Workers resolve hostnames when they send an event.
    let may_be_own = match address {
        Some(address) => guard.is_in_allow(address),
        None => !guard.allow.is_empty(),
    };
    if url.scheme() != "https" && !may_be_own {
        return Err(invalid(
            "expected an https URL; http is only for non-public addresses that the operator allows",
        ));
    }
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_to_which_no_worker_would_send_is_rejected() {
        let ports = PortList::default();
        let public = Guard::default();
        let check = |url: &str| webhook_url(url, &ports, &public).map_err(|problem| problem.code);
        assert_eq!(check("HTTPS://Hook.example:443"), Ok("https://hook.example/".to_owned()));
        assert_eq!(check("https://93.184.216.34/x?y"), Ok("https://93.184.216.34/x?y".to_owned()));
        for wrong in [
            "",
            "hook.example",
            "/x",
            "https://",
            "ftp://hook.example/",
            "http://hook.example/",
            "https://user@hook.example/",
            "https://:word@hook.example/",
            "https://hook.example/#x",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1./",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://169.254.169.254/",
            "https://[fd00:ec2::254]/",
            "https://10.0.0.1/",
            "http://10.0.0.1/",
        ] {
            assert_eq!(check(wrong), Err(ProblemCode::InvalidUrl), "{wrong}");
        }
        let long = format!("https://hook.example/{}", "x".repeat(2_048));
        assert_eq!(check(&long), Err(ProblemCode::InvalidUrl));
        for wrong in ["https://hook.example:22/", "https://hook.example:9000/"] {
            assert_eq!(check(wrong), Err(ProblemCode::PortNotAllowed), "{wrong}");
        }
    }

    #[test]
    fn only_the_operators_own_addresses_get_events_over_http() {
        let own = Guard { allow: vec!["10.0.0.0/8".parse().unwrap()], ..Guard::default() };
        let check = |url: &str| webhook_url(url, &PortList::default(), &own).is_ok();
        for right in ["http://10.1.2.3/", "https://10.1.2.3/", "http://hook.internal/"] {
            assert!(check(right), "{right}");
        }
        for wrong in ["http://93.184.216.34/", "http://127.0.0.1/", "https://127.0.0.1/"] {
            assert!(!check(wrong), "{wrong}");
        }
    }
}
