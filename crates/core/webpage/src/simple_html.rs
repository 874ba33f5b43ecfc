//! A page's content as simple HTML, for programs that convert it to other formats.
//!
//! A converter builds a tree from its input. Many converters take quadratic time, or recurse as
//! deep as a hostile page is nested. With the output of this module, neither can happen, because it
//! contains only the visible elements, each properly closed, and limits their nesting. It is
//! written in one pass over the page. It does not contain what [`crate::text`] skips: scripts,
//! styles, form fields, drawings and hidden content.
//!
//! Invariants: the HTML has only the elements in `element.rs`, properly nested, at most 64 deep, at
//! most 60,000, in at most as many bytes as the caller allows (plus the rest of a tag, and end tags
//! for the elements that are still open). All its URLs are absolute, http or https. A link to
//! anything else, such as `javascript:`, keeps only its text. White space is folded outside
//! preformatted blocks, and there are no control characters except line feeds and tabs. This module
//! does not depend on the format to which a caller converts the HTML.

mod element;
mod open_tags;
mod simplifier;

use url::Url;

pub use self::simplifier::SimpleHtml;
use self::simplifier::Simplifier;
use crate::markup;

/// Simplifies a decoded page to at most `max_bytes` bytes. `base` resolves its relative URLs.
#[must_use]
pub fn simplify(html: &str, base: Option<&Url>, max_bytes: usize) -> SimpleHtml {
    let mut simplifier = Simplifier::new(html, base, max_bytes);
    markup::read(html.as_bytes(), |_| false, false, &mut simplifier);
    simplifier.finish()
}

#[cfg(test)]
mod tests;
