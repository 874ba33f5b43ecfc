//! Converts a page to simple HTML, for programs that convert it to other formats.
//!
//! Many converters take quadratic time on hostile pages, or recurse as deep as a page is nested.
//! The output therefore has limits on the nesting, number and size of its elements.

mod element;
mod open_tags;
mod simplifier;

use url::Url;

pub use self::simplifier::SimpleHtml;
use self::simplifier::Simplifier;
use crate::markup;

/// Simplifies a decoded page to about `max_bytes` bytes. `base` resolves its relative URLs.
#[must_use]
pub fn simplify(html: &str, base: Option<&Url>, max_bytes: usize) -> SimpleHtml {
    let mut simplifier = Simplifier::new(html, base, max_bytes);
    markup::read(html.as_bytes(), |_| false, false, &mut simplifier);
    simplifier.finish()
}

#[cfg(test)]
mod tests;
