//! The cookies of one redirect chain, because some sites redirect until they receive their own
//! cookie.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use http::{HeaderMap, header::SET_COOKIE};
use url::Url;

/// Maximum number of cookies in a chain.
const MAX_COOKIES: usize = 10;
/// Maximum total bytes of names and values in a chain. Browsers have the same limit for one cookie.
const MAX_BYTES: usize = 4_096;

/// The cookies of one redirect chain. Each is only sent to the host that set it. A caller that
/// follows a redirect itself passes them to the next request.
#[derive(Clone, Debug, Default)]
pub struct Cookies {
    values: BTreeMap<(String, String), Cookie>,
}

#[derive(Clone, Debug)]
struct Cookie {
    value: String,
    secure: bool,
}

impl Cookies {
    pub(crate) fn take(&mut self, url: &Url, headers: &HeaderMap) {
        let Some(host) = url.host_str() else { return };
        for line in headers.get_all(SET_COOKIE) {
            let Ok(line) = line.to_str() else { continue };
            let mut parts = line.split(';');
            let pair = parts.next().and_then(|pair| pair.split_once('='));
            let Some((name, value)) = pair else { continue };
            let (mut secure, mut max_age, mut expires) = (false, None, None);
            for attribute in parts {
                let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
                let value = value.trim();
                match name.trim().to_ascii_lowercase().as_str() {
                    "secure" => secure = true,
                    "max-age" => max_age = value.parse::<i64>().ok().or(max_age),
                    "expires" => expires = expiry(value).or(expires),
                    _ => {}
                }
            }
            let expired = match (max_age, expires) {
                (Some(age), _) => age <= 0,
                (None, Some(at)) => at <= Utc::now(),
                (None, None) => false,
            };
            let key = (host.to_owned(), name.trim().to_owned());
            let held = self.values.remove(&key);
            if expired || name.trim().is_empty() {
                continue;
            }
            let size = self.bytes() + name.len() + value.len();
            if self.values.len() < MAX_COOKIES && size <= MAX_BYTES {
                let cookie = Cookie { value: value.trim().to_owned(), secure };
                self.values.insert(key, cookie);
            } else if let Some(held) = held {
                self.values.insert(key, held);
            }
        }
    }

    pub(crate) fn header(&self, url: &Url) -> Option<String> {
        let host = url.host_str()?;
        let is_https = url.scheme() == "https";
        let pairs: Vec<String> = self
            .values
            .iter()
            .filter(|((owner, _), cookie)| owner == host && (is_https || !cookie.secure))
            .map(|((_, name), cookie)| format!("{name}={}", cookie.value))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    fn bytes(&self) -> usize {
        self.values.iter().map(|((_, name), cookie)| name.len() + cookie.value.len()).sum()
    }
}

/// Like browsers, this ignores the weekday, and accepts hyphens between the parts of the date.
fn expiry(value: &str) -> Option<DateTime<Utc>> {
    let date = value.split_once(',').map_or(value, |(_, date)| date);
    let date = date.trim().replace('-', " ");
    let parsed = DateTime::parse_from_rfc2822(&date);
    Some(parsed.ok()?.with_timezone(&Utc))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn jar(url: &Url, lines: &[&str]) -> Cookies {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(SET_COOKIE, HeaderValue::from_str(line).expect("a header value"));
        }
        let mut cookies = Cookies::default();
        cookies.take(url, &headers);
        cookies
    }

    #[test]
    fn a_cookie_goes_back_to_its_own_host_only() {
        let url = Url::parse("https://a.example/").expect("a URL");
        let cookies = jar(&url, &["seen=1; Path=/; Domain=.example", "s=2; Secure"]);
        assert_eq!(cookies.header(&url).as_deref(), Some("s=2; seen=1"));
        let plain = Url::parse("http://a.example/x").expect("a URL");
        assert_eq!(cookies.header(&plain).as_deref(), Some("seen=1"));
        let other = Url::parse("https://b.example/").expect("a URL");
        assert_eq!(cookies.header(&other), None);
    }

    #[test]
    fn at_most_ten_cookies_with_four_kilobytes_are_kept() {
        let url = Url::parse("https://a.example/").expect("a URL");
        let lines: Vec<String> = (0..40).map(|n| format!("n{n}=v")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let header = jar(&url, &lines).header(&url).expect("cookies");
        assert_eq!(header.split("; ").count(), MAX_COOKIES);
        let huge = format!("big={}", "x".repeat(MAX_BYTES));
        assert_eq!(jar(&url, &[&huge]).header(&url), None);
    }

    #[test]
    fn an_expired_cookie_is_dropped() {
        let url = Url::parse("https://a.example/").expect("a URL");
        let kept =
            |attributes: &str| jar(&url, &["a=1", &format!("a=2; {attributes}")]).header(&url);
        for gone in [
            "Max-Age=0",
            "max-age = -1",
            "Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/",
            "expires=Thu, 01-Jan-1970 00:00:01 GMT",
            "Expires=Thursday, 01-Jan-70 00:00:00 GMT",
            "Expires=Sun, 01 Jan 1970 00:00:00 GMT",
            "Expires=01 Jan 1970 00:00:00 GMT",
            "Max-Age=0; Expires=Fri, 01 Jan 2100 00:00:00 GMT",
        ] {
            assert_eq!(kept(gone), None, "{gone}");
        }
        for stays in [
            "Max-Age=9",
            "Max-Age=soon",
            "Expires=Fri, 01 Jan 2100 00:00:00 GMT",
            "Expires=never",
            "Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ] {
            assert_eq!(kept(stays).as_deref(), Some("a=2"), "{stays}");
        }
    }
}
