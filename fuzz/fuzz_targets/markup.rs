//! Scans any bytes as HTML. Our scanner and an independent HTML rewriter must find the same
//! elements.
//!
//! Inputs for which the two differ by design are skipped: foreign content, templates and framesets.
#![no_main]
#![allow(dead_code, unreachable_pub, reason = "the modules are those of another crate")]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/core/webpage/src/markup.rs"]
mod markup;
#[path = "../../crates/core/webpage/src/markup/tests/oracle.rs"]
mod markup_oracle;
#[path = "../../crates/core/webpage/src/nesting.rs"]
mod nesting;
#[path = "../../crates/core/webpage/src/prescan.rs"]
mod prescan;
#[path = "../../crates/core/webpage/src/tokens.rs"]
mod tokens;

use markup_oracle::visible_parts;

fn is_icon(rel: &[u8]) -> bool {
    rel.split(u8::is_ascii_whitespace).any(|token| token.eq_ignore_ascii_case(b"icon"))
}

fuzz_target!(|html: &[u8]| {
    let lower = html.to_ascii_lowercase();
    let has = |word: &[u8]| lower.windows(word.len()).any(|window| window == word);
    if has(b"<svg") || has(b"<math") || has(b"<template") || has(b"<frameset") {
        return;
    }
    if markup_oracle::misreads(html) {
        return;
    }
    let ours = markup::read(html, is_icon, true, &mut markup::NoVisitor);
    let oracle = markup_oracle::read(html, is_icon, true);
    assert_eq!(visible_parts(html, &ours), visible_parts(html, &oracle));
    assert_eq!(ours.meta_encoding, oracle.meta_encoding);
});
