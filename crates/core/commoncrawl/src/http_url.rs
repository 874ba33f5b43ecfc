//! Splits an absolute `http` or `https` URL into its parts without changing them.

/// Maximum length in bytes of a capture's URL. Crawls store only URLs up to about 2,000 bytes.
pub const MAX_URL_BYTES: usize = 16 << 10;

/// Why a string is not a capture's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CaptureUrlError {
    /// The URL is too long.
    #[error("the URL has more than {MAX_URL_BYTES} bytes")]
    TooLong,
    /// The URL does not start with `http:` or `https:`.
    #[error("the URL is neither http nor https")]
    Scheme,
    /// The URL has no host.
    #[error("the URL has no host")]
    Host,
    /// The port is not a number, or greater than 65,535.
    #[error("the port is not a number up to 65,535")]
    Port,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HttpUrl<'a> {
    pub(crate) is_https: bool,
    /// The host without user name and port, never empty. An IPv6 address has brackets.
    pub(crate) host: &'a str,
    pub(crate) port: Option<u16>,
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
}

impl<'a> HttpUrl<'a> {
    pub(crate) fn parse(url: &'a str) -> Result<Self, CaptureUrlError> {
        if url.len() > MAX_URL_BYTES {
            return Err(CaptureUrlError::TooLong);
        }
        let (scheme, rest) = url.split_once(':').ok_or(CaptureUrlError::Scheme)?;
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return Err(CaptureUrlError::Scheme);
        }
        let rest = rest.trim_start_matches('/');
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (before_query, query) = match rest.split_once('?') {
            Some((before, query)) => (before, Some(query)),
            None => (rest, None),
        };
        let path_start = before_query.find('/').unwrap_or(before_query.len());
        let (authority, path) = before_query.split_at(path_start);
        let host_and_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = split_port(host_and_port)?;
        if host.is_empty() {
            return Err(CaptureUrlError::Host);
        }
        Ok(Self { is_https, host, port, path, query })
    }

    pub(crate) fn unusual_port(&self) -> Option<u16> {
        let usual = if self.is_https { 443 } else { 80 };
        self.port.filter(|port| *port != usual && *port != 0)
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.is_https { "https" } else { "http" }
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), CaptureUrlError> {
    let name_end = if text.starts_with('[') { text.find(']').unwrap_or(0) } else { 0 };
    let Some(colon) = text.get(name_end..).and_then(|rest| rest.find(':')) else {
        return Ok((text, None));
    };
    let (host, port) = text.split_at(name_end + colon);
    match port.get(1..).unwrap_or_default() {
        "" => Ok((host, None)),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map(|port| (host, Some(port))).map_err(|_| CaptureUrlError::Port)
        }
        _ => Err(CaptureUrlError::Port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_without_changes() {
        let url = HttpUrl::parse("HTTPS://u:p@A.example:8443/P//q?x=1?y#f?").unwrap();
        let expected = HttpUrl {
            is_https: true,
            host: "A.example",
            port: Some(8_443),
            path: "/P//q",
            query: Some("x=1?y"),
        };
        assert_eq!(url, expected);
        let parts = |text| HttpUrl::parse(text).map(|url| (url.host, url.port, url.path));
        assert_eq!(parts("http://[::1]:81/"), Ok(("[::1]", Some(81), "/")));
        assert_eq!(parts("http://[::1]"), Ok(("[::1]", None, "")));
        assert_eq!(parts("http://a?b/c"), Ok(("a", None, "")));
        assert_eq!(parts("http://a:/b:c@d"), Ok(("a", None, "/b:c@d")));
        assert_eq!(HttpUrl::parse("http://a:443/").unwrap().unusual_port(), Some(443));
        assert_eq!(HttpUrl::parse("https://a:443/").unwrap().unusual_port(), None);
    }

    #[test]
    fn invalid_capture_urls_are_rejected_with_the_reason() {
        let long = format!("http://a/{}", "b".repeat(MAX_URL_BYTES));
        for (text, reason) in [
            ("", CaptureUrlError::Scheme),
            ("a.example/", CaptureUrlError::Scheme),
            ("ftp://a.example/", CaptureUrlError::Scheme),
            ("http:", CaptureUrlError::Host),
            ("http://:80/", CaptureUrlError::Host),
            ("http://u@/", CaptureUrlError::Host),
            ("http://a:b/", CaptureUrlError::Port),
            ("http://a:65536/", CaptureUrlError::Port),
            ("http://a:+1/", CaptureUrlError::Port),
            ("http://a:1:2/", CaptureUrlError::Port),
            (&long, CaptureUrlError::TooLong),
        ] {
            assert_eq!(HttpUrl::parse(text), Err(reason), "{:.40}", text);
        }
    }
}
