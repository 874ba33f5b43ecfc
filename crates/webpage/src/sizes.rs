//! The `sizes` attribute of an icon link (WHATWG HTML 4.6.8.8).
//!
//! Tokens split by ASCII space; a bad token is passed over alone. Sizes are in raw pixels.

/// The most sizes read of one attribute.
const MAX_SIZES: usize = 32;

/// What a `sizes` attribute declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The token `any` was there: the icon scales.
    pub any: bool,
    /// `(width, height)` in pixels, in order.
    pub pixels: Vec<(u32, u32)>,
}

/// Reads a `sizes` attribute; junk gives nothing.
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

/// Digits only, no leading zero.
fn number(digits: &str) -> Option<u32> {
    let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bad_token_is_passed_over_alone() {
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
