//! Splits a `srcset` attribute into its URLs (WHATWG HTML 4.8.4.3.10, "parse a srcset attribute").

pub(crate) fn urls(srcset: &str) -> impl Iterator<Item = &str> {
    let is_space = |c: char| c.is_ascii_whitespace();
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| is_space(c) || c == ',');
        let end = rest.find(is_space).unwrap_or(rest.len());
        let (url, after) = rest.split_at_checked(end)?;
        rest = if url.ends_with(',') { after } else { after_descriptors(after) };
        let url = url.trim_end_matches(',');
        (!url.is_empty()).then_some(url)
    })
}

fn after_descriptors(text: &str) -> &str {
    let mut is_in_parentheses = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => is_in_parentheses = true,
            b')' => is_in_parentheses = false,
            b',' if !is_in_parentheses => return text.get(at + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases from the Web Platform Tests, html/semantics/embedded-content/the-img-element/srcset.
    #[test]
    fn a_srcset_is_split_as_in_browsers() {
        for (srcset, expected) in [
            ("", ""),
            (",", ""),
            (",,, ,", ""),
            ("a", "a"),
            (" a ", "a"),
            ("a.png 1x, b.png 2x", "a.png b.png"),
            ("a,b 1x", "a,b"),
            ("a, b", "a b"),
            ("a,", "a"),
            ("a,, b", "a b"),
            (",a", "a"),
            ("a 1x,b 2x", "a b"),
            ("a\n320w,\n\tb\t640w", "a b"),
            ("a (1x, 2x), b 2x", "a b"),
            ("a (1x, b 2x", "a"),
            ("a 1x 2w junk, b", "a b"),
            ("data:,a ( , data:,b 1x, ), data:,c", "data:,a data:,c"),
            ("data:image/gif;base64,AAAA 1x, /b.gif 2x", "data:image/gif;base64,AAAA /b.gif"),
            (
                "/w_100,h_50/a.jpg 100w, /w_200,h_100/a.jpg 200w",
                "/w_100,h_50/a.jpg /w_200,h_100/a.jpg",
            ),
        ] {
            assert_eq!(urls(srcset).collect::<Vec<_>>().join(" "), expected, "{srcset:?}");
        }
    }
}
