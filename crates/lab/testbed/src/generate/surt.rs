//! SURT keys (sort-friendly URI reordering transform), as in the index: the host's labels are
//! reversed, `www.` is removed, and the path and query are in lower case.

pub(super) fn of_host(host: &str) -> String {
    let bare = host.strip_prefix("www.").unwrap_or(host);
    let labels: Vec<_> = bare.rsplit('.').collect();
    labels.join(",")
}

pub(super) fn of_url(host: &str, path: &str, query: Option<&str>) -> String {
    let path = match path.strip_suffix('/') {
        Some("") | None => path,
        Some(bare) => bare,
    };
    let mut key = format!("{}){}", of_host(host), path.to_ascii_lowercase());
    if let Some(query) = query {
        key.push('?');
        key.push_str(&query.to_ascii_lowercase());
    }
    key
}

#[cfg(test)]
mod tests {
    use super::of_url;

    #[test]
    fn keys_are_those_of_the_real_index() {
        assert_eq!(of_url("watchseries.ag", "/", None), "ag,watchseries)/");
        let key =
            of_url("go.telstra.com.au", "/helpandsupport/", Some("ref=Net-Header2-Corp-contactus"));
        assert_eq!(key, "au,com,telstra,go)/helpandsupport?ref=net-header2-corp-contactus");
    }
}
