//! Reads one header from a list (Fetch, "get, decode, and split"). Values are decoded
//! isomorphically, so no byte is lost.

/// Names and values in arrival order, with duplicates.
pub(crate) type HeaderList = [(String, Vec<u8>)];

pub(crate) fn combined(headers: &HeaderList, name: &str) -> Option<String> {
    let mut joined: Option<String> = None;
    for value in lines(headers, name) {
        match &mut joined {
            None => joined = Some(isomorphic(value)),
            Some(text) => {
                text.push_str(", ");
                text.extend(value.iter().map(|byte| char::from(*byte)));
            }
        }
    }
    joined
}

pub(crate) fn lines<'a>(headers: &'a HeaderList, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    headers
        .iter()
        .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_slice())
}

/// As in Chromium, and unlike in Fetch, a quoted string ends with its line.
pub(crate) fn values(headers: &HeaderList, name: &str) -> Vec<String> {
    let lines = lines(headers, name).map(isomorphic);
    lines.flat_map(|line| split(&line).into_iter().map(str::to_owned).collect::<Vec<_>>()).collect()
}

pub(crate) fn split(joined: &str) -> Vec<&str> {
    let bytes = joined.as_bytes();
    let mut values = Vec::new();
    let (mut start, mut at, mut quoted) = (0, 0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => at += 1,
            b',' if !quoted => {
                values.push(trimmed(joined.get(start..at).unwrap_or_default()));
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    values.push(trimmed(joined.get(start..).unwrap_or_default()));
    values
}

pub(crate) fn isomorphic(value: &[u8]) -> String {
    value.iter().map(|byte| char::from(*byte)).collect()
}

pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn trimmed(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_split_only_outside_quotes() {
        assert_eq!(split("a, b"), ["a", "b"]);
        assert_eq!(split(""), [""]);
        assert_eq!(split("a,"), ["a", ""]);
        assert_eq!(split("\"a,b\", c"), ["\"a,b\"", "c"]);
        assert_eq!(split("\"a\\\",b\",c"), ["\"a\\\",b\"", "c"]);
        assert_eq!(split("\"a,b"), ["\"a,b"]);
        assert_eq!(split("\"a\\"), ["\"a\\"]);
    }

    #[test]
    fn duplicates_are_joined_in_order_and_names_ignore_case() {
        let headers = [
            ("X-A".to_owned(), b"1".to_vec()),
            ("x-b".to_owned(), vec![]),
            ("x-a".to_owned(), vec![0xe9]),
        ];
        assert_eq!(combined(&headers, "x-a").as_deref(), Some("1, é"));
        assert_eq!(combined(&headers, "x-b").as_deref(), Some(""));
        assert_eq!(combined(&headers, "x-c"), None);
        assert_eq!(values(&headers, "x-a"), ["1", "\u{e9}"]);
        assert_eq!(values(&headers, "x-b"), [""]);
        assert!(values(&headers, "x-c").is_empty());
    }
}
