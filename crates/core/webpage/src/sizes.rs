//! Parses an icon link's `sizes` attribute (WHATWG HTML 4.6.8.8).

/// Maximum sizes to read from an attribute. Sizes beyond this limit are ignored. An ICO has up to a
/// dozen.
const MAX_SIZES: usize = 32;

/// Content of a `sizes` attribute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// True if this attribute contains the token `any`.
    pub any: bool,
    /// Width and height in device pixels, in the attribute's order.
    pub pixels: Vec<(u32, u32)>,
}

/// Parses a `sizes` attribute and ignores invalid tokens.
#[must_use]
pub fn parse(attribute: &str) -> Sizes {
    let mut sizes = Sizes::default();
    for token in attribute.split_ascii_whitespace() {
        if token.eq_ignore_ascii_case("any") {
            sizes.any = true;
        } else if let Some((width, height)) = token.split_once(['x', 'X'])
            && let (Some(width), Some(height)) = (number(width), number(height))
            && sizes.pixels.len() < MAX_SIZES
        {
            sizes.pixels.push((width, height));
        }
    }
    sizes
}

fn number(digits: &str) -> Option<u32> {
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bad_tokens_are_skipped() {
        let pixels = |text: &str| parse(text).pixels;
        assert_eq!(pixels("16x16 32X32"), [(16, 16), (32, 32)]);
        assert_eq!(pixels("bad 016x16 0x0 16x 16x16x16 +1x1 1 -1x1 48x64"), [(48, 64)]);
        assert_eq!(pixels("99999999999x1"), []);
        assert_eq!(pixels("16×16"), []);
        assert!(parse("ANY 16x16").any);
        assert!(!parse("anyx").any);
        assert_eq!(pixels(&"1x1 ".repeat(1000)).len(), MAX_SIZES);
    }
}
