//! Converts pages to Markdown.
//!
//! Invariants: the libraries get simple HTML alone ([`everytab_webpage::simplify`]), so that
//! neither their stack nor their time depends on how a page is nested; every link is an absolute
//! http or https URL; a panic in a library is an error of that page. Does not depend on the origin
//! of a page.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use everytab_webpage::{Page, SimpleHtml, simplify};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

/// Maximum length in bytes of the simple HTML that is converted. The longest articles of Wikipedia
/// have about 1 MiB.
const MAX_SIMPLE_BYTES: usize = 2 << 20;

/// Length in bytes of Markdown below which the main content is not believed to have been found. The
/// search never fails: of a page of links it returns some sentence.
const MIN_MAIN_BYTES: usize = 250;

/// Which part of a page is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PagePart {
    /// The main content, without navigation and the like. The whole page, if none is found.
    #[default]
    Main,
    /// All that people see.
    Whole,
}

impl PagePart {
    /// Every part.
    pub const ALL: [Self; 2] = [Self::Main, Self::Whole];

    /// The stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Whole => "whole",
        }
    }
}

/// A page as Markdown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markdown {
    /// CommonMark, with tables as GitHub has them.
    pub text: String,
    /// Whether the page has more than a limit allows.
    pub is_truncated: bool,
}

/// A library panicked on this page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the page cannot be converted to Markdown")]
pub struct ConversionFailed;

/// Converts a page, which was read from `body`, to at most `max_bytes` of Markdown.
///
/// # Errors
/// Returns an error if a library panics.
pub fn markdown(
    page: &Page,
    body: &[u8],
    content: PagePart,
    max_bytes: usize,
) -> Result<Markdown, ConversionFailed> {
    let SimpleHtml { html, is_truncated } =
        simplify(&page.decode(body), page.base.as_ref(), MAX_SIMPLE_BYTES);
    let convert = || {
        let main = (content == PagePart::Main).then(|| main_content(&html)).flatten();
        main.unwrap_or_else(|| Document::from(html.as_str()).md(None).to_string())
    };
    let mut text = catch_unwind(AssertUnwindSafe(convert)).map_err(|_| ConversionFailed)?;
    let is_cut = text.len() > max_bytes;
    if is_cut {
        text.truncate(text.floor_char_boundary(max_bytes));
    }
    text.truncate(text.trim_end().len());
    Ok(Markdown { text, is_truncated: is_truncated || is_cut })
}

/// Returns the main content. `None` if there is none.
fn main_content(html: &str) -> Option<String> {
    let config =
        Config { text_mode: TextMode::Markdown, disable_json_ld: true, ..Config::default() };
    let article = Readability::new(html, None, Some(config)).ok()?.parse().ok()?;
    let text = article.text_content.to_string();
    (text.len() >= MIN_MAIN_BYTES).then_some(text)
}

#[cfg(test)]
mod tests;
