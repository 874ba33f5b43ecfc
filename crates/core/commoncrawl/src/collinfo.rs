//! Writes `collinfo.json`, a bucket's crawl list in the format of Common Crawl's index server.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{crawl_layout::LiveCrawlName, crawl_objects::COLLINFO, date::format_seconds};

/// Maximum list size in bytes. An entry has about 250.
pub const MAX_COLLINFO_BYTES: usize = 16 << 20;

/// Why the crawl list cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollinfoError {
    /// The list is too large.
    #[error("{COLLINFO} has more than {MAX_COLLINFO_BYTES} bytes")]
    TooLarge,
    /// The list is not an array of objects with an id.
    #[error("{COLLINFO} is not a valid list of crawls: {0}")]
    NotAList(String),
}

/// A live crawl in the list.
#[derive(Debug, Clone, Copy)]
pub struct ListedCrawl<'a> {
    /// Crawl id.
    pub id: &'a LiveCrawlName,
    /// Name for people.
    pub name: &'a str,
    /// Base URL of the index service with a trailing `/`. If this is empty, the entry contains
    /// relative URLs.
    pub service: &'a str,
    /// Time of the crawl's first capture, in microseconds since 1970 UTC.
    pub from_micros: i64,
    /// Time of the crawl's last capture, in microseconds since 1970 UTC.
    pub to_micros: i64,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timegate: Option<String>,
    #[serde(rename = "cdx-api", skip_serializing_if = "Option::is_none")]
    cdx_api: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Adds a crawl to the list, or replaces its entry.
///
/// # Errors
/// Returns an error if the previous list is malformed or too large.
pub fn add_to_collinfo(
    before: Option<&[u8]>,
    crawl: &ListedCrawl<'_>,
) -> Result<Vec<u8>, CollinfoError> {
    let mut entries: Vec<Entry> = match before {
        Some(before) if before.len() > MAX_COLLINFO_BYTES => return Err(CollinfoError::TooLarge),
        Some(before) => serde_json::from_slice(before)
            .map_err(|error| CollinfoError::NotAList(error.to_string()))?,
        None => Vec::new(),
    };
    let id = crawl.id.as_str();
    entries.retain(|entry| entry.id != id);
    entries.push(entry_of(crawl));
    let is_live = |entry: &Entry| LiveCrawlName::parse(&entry.id).is_ok();
    let (mut all, others): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_live);
    all.sort_by(|a, b| b.id.cmp(&a.id));
    all.extend(others);
    let mut bytes = serde_json::to_vec_pretty(&all).expect("all keys are strings");
    bytes.push(b'\n');
    Ok(bytes)
}

/// Removes a crawl from the list. `None` if the list does not contain this crawl.
///
/// # Errors
/// Returns an error if the list is malformed or too large.
pub fn without_crawl(
    before: &[u8],
    crawl: &LiveCrawlName,
) -> Result<Option<Vec<u8>>, CollinfoError> {
    if before.len() > MAX_COLLINFO_BYTES {
        return Err(CollinfoError::TooLarge);
    }
    let mut entries: Vec<Entry> = serde_json::from_slice(before)
        .map_err(|error| CollinfoError::NotAList(error.to_string()))?;
    let number = entries.len();
    entries.retain(|entry| entry.id != crawl.as_str());
    if entries.len() == number {
        return Ok(None);
    }
    let mut bytes = serde_json::to_vec_pretty(&entries).expect("all keys are strings");
    bytes.push(b'\n');
    Ok(Some(bytes))
}

fn entry_of(crawl: &ListedCrawl<'_>) -> Entry {
    let ListedCrawl { id, name, service, from_micros, to_micros } = crawl;
    // Times in `collinfo.json` have no time zone.
    let time = |micros: i64| Some(format_seconds(micros).trim_end_matches('Z').to_owned());
    Entry {
        id: id.to_string(),
        name: Some((*name).to_owned()),
        timegate: Some(format!("{service}{id}/")),
        cdx_api: Some(format!("{service}{id}-index")),
        from: time(*from_micros),
        to: time(*to_micros),
        others: Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::paths::crawl_ids;

    const DATE: i64 = 1_767_225_599_000_000;

    fn added(before: Option<&[u8]>, id: &LiveCrawlName, name: &str) -> Vec<u8> {
        let service = "https://index.example/";
        let crawl = ListedCrawl { id, name, service, from_micros: DATE, to_micros: DATE + 1 };
        add_to_collinfo(before, &crawl).unwrap()
    }

    #[test]
    fn adding_a_crawl_keeps_the_others_and_lists_live_crawls_newest_first() {
        let [old, new] = [1, 2].map(|n| LiveCrawlName::new(DATE * n, 7).unwrap());
        let first = added(None, &old, "my sites");
        let expected = r#"[
  {
    "id": "LIVE-20251231235959-00000007",
    "name": "my sites",
    "timegate": "https://index.example/LIVE-20251231235959-00000007/",
    "cdx-api": "https://index.example/LIVE-20251231235959-00000007-index",
    "from": "2025-12-31T23:59:59",
    "to": "2025-12-31T23:59:59"
  }
]
"#;
        assert_eq!(String::from_utf8(first.clone()).unwrap(), expected);
        assert_eq!(added(Some(&first), &old, "my sites"), first);
        assert_eq!(without_crawl(&first, &old).unwrap().as_deref(), Some(&b"[]\n"[..]));
        assert_eq!(without_crawl(&first, &new), Ok(None));
        let others = br#"[{"id":"CC-MAIN-2026-05","x":[1]},{"id":"CC-MAIN-2026-09"}]"#;
        let one = added(Some(&added(Some(others), &old, "b")), &new, "a");
        let other = added(Some(&added(Some(others), &new, "a")), &old, "b");
        assert_eq!(one, other, "the order of closing does not matter");
        let list: Vec<Value> = serde_json::from_slice(&one).unwrap();
        let ids: Vec<&str> = list.iter().map(|entry| entry["id"].as_str().unwrap()).collect();
        let newest = [new.as_str(), old.as_str(), "CC-MAIN-2026-05", "CC-MAIN-2026-09"];
        assert_eq!(ids, newest);
        assert_eq!(list[2]["x"][0], 1);
        assert_eq!(crawl_ids(&one).unwrap(), ["CC-MAIN-2026-09", "CC-MAIN-2026-05"]);
    }

    #[test]
    fn a_malformed_list_is_an_error() {
        let id = LiveCrawlName::new(DATE, 7).unwrap();
        let crawl =
            ListedCrawl { id: &id, name: "", service: "", from_micros: 0, to_micros: i64::MAX };
        for bad in ["", "{}", "[1]", "[{}]", r#"[{"id":5}]"#, r#"[{"id":"a"}"#, "\u{0}"] {
            let error = add_to_collinfo(Some(bad.as_bytes()), &crawl).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with("collinfo.json is not a valid list of crawls: "), "{bad}");
        }
        let large = vec![b' '; MAX_COLLINFO_BYTES + 1];
        assert_eq!(add_to_collinfo(Some(&large), &crawl), Err(CollinfoError::TooLarge));
        assert!(add_to_collinfo(Some(b"[]"), &crawl).is_ok());
    }

    proptest! {
        #[test]
        fn arbitrary_strings_never_panic_as_lists(
            text in "\\[(\\{\"id\":\"\\PC{0,9}\"\\},?){0,3}\\]?|\\PC*",
        ) {
            let id = LiveCrawlName::new(DATE, 7).unwrap();
            let crawl =
                ListedCrawl { id: &id, name: "", service: "", from_micros: 0, to_micros: 0 };
            if let Ok(bytes) = add_to_collinfo(Some(text.as_bytes()), &crawl) {
                prop_assert_eq!(add_to_collinfo(Some(&bytes), &crawl), Ok(bytes.clone()));
            }
        }
    }
}
