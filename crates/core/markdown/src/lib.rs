//! Converts pages to Markdown. The libraries only get simple HTML ([`everytab_webpage::simplify`]),
//! because deeply nested pages would cost too much stack and time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use everytab_webpage::{Page, SimpleHtml, simplify};

/// Runs the example in README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

/// Maximum simple HTML to convert, in bytes. HTML beyond this limit is cut.
const MAX_SIMPLE_BYTES: usize = 2 << 20;

/// Minimum Markdown bytes for the main content. Below this limit, the whole page is converted.
const MIN_MAIN_BYTES: usize = 250;

/// The page part that is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PagePart {
    /// The main content, without navigation and the like, or the whole page if none is found.
    #[default]
    Main,
    /// All visible content.
    Whole,
}

impl PagePart {
    /// Every part.
    pub const ALL: [Self; 2] = [Self::Main, Self::Whole];

    /// Returns the stable name.
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
    /// CommonMark, with GitHub's tables.
    pub text: String,
    /// Whether a limit cut the page or the Markdown.
    pub is_truncated: bool,
}

/// A library panicked on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the page cannot be converted to Markdown")]
pub struct ConversionFailed;

/// Converts a page, which was parsed from `body`, to at most `max_bytes` of Markdown.
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

/// Returns the main content if it is found and long enough.
fn main_content(html: &str) -> Option<String> {
    let config =
        Config { text_mode: TextMode::Markdown, disable_json_ld: true, ..Config::default() };
    let article = Readability::new(html, None, Some(config)).ok()?.parse().ok()?;
    let text = article.text_content.to_string();
    (text.len() >= MIN_MAIN_BYTES).then_some(text)
}

#[cfg(test)]
mod tests;
