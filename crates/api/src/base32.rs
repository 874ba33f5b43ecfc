//! Base32 in lower case without padding (RFC 4648), for addresses and keys.
//!
//! Invariant: values and strings correspond one to one, because unused bits must be zero.

/// The alphabet.
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Bits per digit.
const BITS: u32 = 5;

/// Returns whether a character is in the alphabet.
pub(crate) fn is_digit(byte: u8) -> bool {
    DIGITS.contains(&byte)
}

/// Encodes bytes.
pub(crate) fn base32(bytes: &[u8]) -> String {
    let (mut held, mut bits) = (0_u32, 0_u32);
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    let mut push = |number: u32| {
        let digit = DIGITS.get((number & 31) as usize).copied().unwrap_or_default();
        text.push(char::from(digit));
    };
    for byte in bytes {
        held = (held << 8) | u32::from(*byte);
        bits += 8;
        while bits >= BITS {
            bits -= BITS;
            push(held >> bits);
        }
        held &= (1 << bits) - 1;
    }
    if bits > 0 {
        push(held << (BITS - bits));
    }
    text
}

/// Decodes a string that [`base32`] wrote. `None` for any other string.
pub(crate) fn from_base32(text: &str) -> Option<Vec<u8>> {
    let (mut held, mut bits) = (0_u32, 0_u32);
    let mut bytes = Vec::with_capacity(text.len() * 5 / 8);
    for byte in text.bytes() {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        held = (held << BITS) | u32::try_from(digit).ok()?;
        bits += BITS;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits).ok()?);
            held &= (1 << bits) - 1;
        }
    }
    (bits < BITS && held == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_rfc_4648_are_written_so() {
        for (bytes, text) in [
            ("", ""),
            ("f", "my"),
            ("fo", "mzxq"),
            ("foo", "mzxw6"),
            ("foob", "mzxw6yq"),
            ("fooba", "mzxw6ytb"),
            ("foobar", "mzxw6ytboi"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
            assert_eq!(from_base32(text).as_deref(), Some(bytes.as_bytes()));
        }
        for wrong in ["MY", "mz", "my======", "m", "1a", "mzx", "é"] {
            assert_eq!(from_base32(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_text_has_one_value(
            bytes in prop::collection::vec(any::<u8>(), 0..64), text in "[a-z2-7]{0,60}",
        ) {
            prop_assert_eq!(from_base32(&base32(&bytes)), Some(bytes));
            if let Some(value) = from_base32(&text) {
                prop_assert_eq!(base32(&value), text);
            }
        }
    }
}
