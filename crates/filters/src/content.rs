//! What a filter is told of a page that was fetched.
//!
//! Must not know: how a page is fetched and read.

use std::net::IpAddr;

/// What a filter is told of a page.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageContent<'a> {
    /// The content type in lower case, without parameters; `None` if the server declares none.
    pub content_type: Option<&'a str>,
    /// The address that answered.
    pub address: Option<IpAddr>,
    /// The title; empty where the page has none.
    pub title: &'a str,
    /// The visible text; empty where the body is no text.
    pub text: &'a str,
    /// The language of the text, as [`crate::language_of`] tells it.
    pub language: Option<&'static str>,
}
