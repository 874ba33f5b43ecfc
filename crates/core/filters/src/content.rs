//! A filter's input from a fetched page.

use std::net::IpAddr;

/// A fetched page, as filters see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageContent<'a> {
    /// Content type in lower case, without parameters. `None` if the server declares none.
    pub content_type: Option<&'a str>,
    /// The server's IP address.
    pub address: Option<IpAddr>,
    /// Title, empty if the page has none.
    pub title: &'a str,
    /// Visible text, empty if the body is not text.
    pub text: &'a str,
    /// The text's language, from [`crate::language_of`].
    pub language: Option<&'static str>,
}
