//! `security.txt` (RFC 9116): the contact for reports about the site's vulnerabilities.

/// Returns the file's content. `site_url` ends with a slash, and `expires` is an RFC 3339 time.
#[must_use]
pub fn security_txt(contact: &str, site_url: Option<&str>, expires: &str) -> String {
    let scheme = if contact.contains(':') { "" } else { "mailto:" };
    let mut text = format!("Contact: {scheme}{contact}\nExpires: {expires}\n");
    if let Some(site_url) = site_url.filter(|url| url.starts_with("https:")) {
        text.push_str(&format!("Canonical: {site_url}{}\n", crate::object_names::SECURITY_TXT));
    }
    text.push_str("Preferred-Languages: en\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_an_address_with_a_scheme() {
        let text = security_txt("me@a.example", Some("https://a.example/"), "2027-01-01T00:00:00Z");
        let expected = "Contact: mailto:me@a.example\nExpires: 2027-01-01T00:00:00Z\n\
                        Canonical: https://a.example/.well-known/security.txt\n\
                        Preferred-Languages: en\n";
        assert_eq!(text, expected);
        let text = security_txt("https://a.example/write", None, "2027-01-01T00:00:00Z");
        assert!(text.starts_with("Contact: https://a.example/write\nExpires: 2027"), "{text}");
        assert!(!text.contains("Canonical"), "{text}");
    }
}
