//! Checks object names, so that a key never leads outside its store.

use crate::error::{StorageError, StorageErrorKind};

/// S3's limit on a whole key in bytes, including the store's prefix.
const MAX_KEY_BYTES: usize = 1024;

/// A directory store's locks and unfinished files are in this directory.
pub(crate) const RESERVED_FOLDER: &str = ".everytab-store";

/// A key must not be empty, absolute or too long, or have a control character or a segment that is
/// empty, `.`, `..` or reserved.
pub(crate) fn check_key(store_url: &str, key: &str) -> Result<(), StorageError> {
    fault(key).map_or(Ok(()), |fault| Err(invalid(store_url, key, fault)))
}

/// A prefix may be empty or end within a segment.
pub(crate) fn check_prefix(store_url: &str, prefix: &str) -> Result<(), StorageError> {
    let whole = format!("{prefix}x");
    let found = match prefix.strip_suffix('/') {
        Some(folder) => fault(folder),
        // Reject a prefix that ends with the segment `..`, although keys such as `...` start with
        // it.
        None if prefix.ends_with("/..") || prefix == ".." => Some("a segment is .."),
        None => fault(&whole),
    };
    found.map_or(Ok(()), |fault| Err(invalid(store_url, prefix, fault)))
}

fn fault(key: &str) -> Option<&'static str> {
    if key.is_empty() {
        return Some("it is empty");
    }
    if key.len() > MAX_KEY_BYTES {
        return Some("it is longer than 1024 bytes");
    }
    if key.chars().any(char::is_control) {
        return Some("it has a control character");
    }
    if key.starts_with('/') {
        return Some("it must be relative, without a leading slash");
    }
    key.split('/').find_map(|segment| match segment {
        "" => Some("a segment is empty"),
        "." => Some("a segment is ."),
        ".." => Some("a segment is .."),
        RESERVED_FOLDER => Some("a segment has a reserved name"),
        _ => None,
    })
}

fn invalid(store_url: &str, key: &str, fault: &str) -> StorageError {
    let shown: String = key.chars().take(200).collect();
    StorageError::new(
        StorageErrorKind::Invalid,
        "use",
        store_url,
        format!("the object name {shown:?} is not allowed: {fault}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_lead_outside_are_rejected() {
        for key in
            ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "../a", "a\0b", "a\nb"]
        {
            assert!(check_key("file:///x", key).is_err(), "{key:?}");
        }
        assert!(check_key("file:///x", &"a".repeat(1025)).is_err());
        assert!(check_key("file:///x", ".everytab-store/lock-0").is_err());
    }

    #[test]
    fn ordinary_keys_are_allowed() {
        for key in ["a", "a/b", "a..b/c", "...", "a b/ü?#%", "scans/1/tabs/0.json"] {
            assert!(check_key("file:///x", key).is_ok(), "{key:?}");
        }
    }

    #[test]
    fn prefixes_may_be_empty_or_end_anywhere() {
        for prefix in ["", "a", "a/", "a/b", "a/.", "."] {
            assert!(check_prefix("file:///x", prefix).is_ok(), "{prefix:?}");
        }
        for prefix in ["/", "/a", "a//", "..", "../", "a/..", "a/../", "a/./", "a\n"] {
            assert!(check_prefix("file:///x", prefix).is_err(), "{prefix:?}");
        }
    }
}
