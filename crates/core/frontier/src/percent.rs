//! Normalizes percent-encoded strings (RFC 3986 section 6.2.2).
//!
//! A lone `%` is encoded, because otherwise `%%34%31` would become `%41`, and then `A`.

pub(crate) fn push_normalized(out: &mut String, text: &str) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    let mut at = 0;
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| *b == b'%')) {
        at += offset;
        out.push_str(&text[copied..at]);
        match escape(bytes, at) {
            Some(byte) => {
                if is_unreserved(byte) {
                    out.push(char::from(byte));
                } else {
                    out.push('%');
                    out.push(upper_digit(byte >> 4));
                    out.push(upper_digit(byte & 15));
                }
                at += 3;
            }
            None => {
                out.push_str("%25");
                at += 1;
            }
        }
        copied = at;
    }
    out.push_str(&text[copied..]);
}

fn escape(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |index: usize| char::from(*bytes.get(index)?).to_digit(16);
    u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()
}

fn upper_digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0').to_ascii_uppercase()
}

/// RFC 3986 section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normalized(text: &str) -> String {
        let mut out = String::new();
        push_normalized(&mut out, text);
        out
    }

    #[test]
    fn unreserved_characters_are_decoded_and_digits_are_upper_case() {
        assert_eq!(normalized("/%7euser/%41%2d%2E%5f"), "/~user/A-._");
        assert_eq!(normalized("/a%2fb%c3%bc"), "/a%2Fb%C3%BC");
        assert_eq!(normalized("100%"), "100%25");
        assert_eq!(normalized("%%34%31"), "%2541");
        assert_eq!(normalized("%zz%4"), "%25zz%254");
        assert_eq!(normalized("%ü"), "%25ü");
        assert_eq!(normalized(""), "");
    }

    proptest! {
        #[test]
        fn a_normal_form_is_its_own_normal_form(text in "([%0-9a-fA-Fü/.]|\\PC){0,40}") {
            let once = normalized(&text);
            prop_assert_eq!(normalized(&once), once);
        }
    }
}
