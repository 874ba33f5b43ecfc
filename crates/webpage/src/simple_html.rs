//! The content of a page as simple HTML, for programs that convert it to other formats.
//!
//! A converter builds a tree of what it is given, and many take quadratic time or recurse as deep
//! as a hostile page is nested. This module gives them a page that cannot do that: the elements
//! that people see, each ended where it should be, from the scanner's one pass. It drops what
//! [`crate::text`] drops: scripts, styles, forms' fields, drawings and what the page hides.
//!
//! Invariants: the HTML has only the elements of `element.rs`, properly nested, at most
//! 64 deep and 60,000 in number, in at most as many bytes as the caller allows
//! (and the end tags of what is open then). All its URLs are absolute, http or https; a link to
//! anything else, such as `javascript:`, is only its text. White space is folded outside of
//! preformatted blocks, and there are no control characters. Does not depend on any format that
//! the HTML is converted to.

mod element;
mod open_tags;
mod simplifier;

use url::Url;

pub use self::simplifier::SimpleHtml;
use self::simplifier::Simplifier;
use crate::markup;

/// Simplifies a decoded page to at most `max_bytes` of HTML. `base` resolves its relative URLs.
#[must_use]
pub fn simplify(html: &str, base: Option<&Url>, max_bytes: usize) -> SimpleHtml {
    let mut simplifier = Simplifier::new(html, base, max_bytes);
    markup::read(html.as_bytes(), |_| false, false, &mut simplifier);
    simplifier.finish()
}

#[cfg(test)]
mod tests;
