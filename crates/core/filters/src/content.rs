//! A filter's input from a fetched page.
//!
//! This module does not depend on how a page is fetched or parsed.

use std::net::IpAddr;

/// A fetched page, as filters see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageContent<'a> {
    /// The content type in lower case, without parameters. `None` if the server declares none.
    pub content_type: Option<&'a str>,
    /// The server's IP address.
    pub address: Option<IpAddr>,
    /// The title. Empty if the page has none.
    pub title: &'a str,
    /// The visible text. Empty if the body is not text.
    pub text: &'a str,
    /// The text's language, as [`crate::language_of`] returns it.
    pub language: Option<&'static str>,
}
