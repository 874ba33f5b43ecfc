//! A URL's scheme and port. A robots.txt applies to one origin (RFC 9309 2.3), and so does an
//! outage.

/// A URL's scheme and port. With the hostname, this is an origin (RFC 6454 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    is_https: bool,
    port: u16,
}

impl Origin {
    /// Returns the origin for a URL in the form of [`crate::CanonicalUrl::fetched`].
    #[must_use]
    pub fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (is_https, default_port) = match scheme {
            "http" => (false, 80),
            "https" => (true, 443),
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let port = match authority.rsplit_once(':') {
            // The last group of an IPv6 address is not a port.
            Some((_, port)) if !port.ends_with(']') => port.parse().ok()?,
            _ => default_port,
        };
        Some(Self { is_https, port })
    }

    /// Returns true if the scheme is https.
    #[must_use]
    pub const fn is_https(self) -> bool {
        self.is_https
    }

    /// Returns scheme, `://`, hostname, and the port unless it is the default.
    #[must_use]
    pub fn on(self, host: &str) -> String {
        match self {
            Self { is_https: false, port: 80 } => format!("http://{host}"),
            Self { is_https: true, port: 443 } => format!("https://{host}"),
            Self { is_https: false, port } => format!("http://{host}:{port}"),
            Self { is_https: true, port } => format!("https://{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_and_port_and_reads_back() {
        for (url, text) in [
            ("http://a.example/x:1?y:2", "http://a.example"),
            ("https://a.example", "https://a.example"),
            ("http://a.example:8000?x", "http://a.example:8000"),
            ("https://a.example:80/", "https://a.example:80"),
            ("http://[::1]/x", "http://a.example"),
            ("http://[::1]:8080/", "http://a.example:8080"),
        ] {
            let origin = Origin::of(url).unwrap();
            assert_eq!(origin.on("a.example"), text, "{url}");
            assert_eq!(Origin::of(text), Some(origin));
        }
        for text in ["ftp://a.example/", "a.example", "http://a.example:99999/", ""] {
            assert_eq!(Origin::of(text), None, "{text}");
        }
    }
}
