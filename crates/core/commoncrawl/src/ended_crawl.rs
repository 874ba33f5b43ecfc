//! Writes `crawl.json`, a live crawl's final document. Its keys have a fixed order.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::{crawl_layout::ArchiveSubset, date::format_seconds};

/// A finished live crawl.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndedCrawl {
    /// Name: `LIVE-<yyyymmddhhmmss>-<8 hex>`.
    pub name: String,
    /// Id in the service.
    pub id: String,
    /// Start time in microseconds since 1970. JSON contains it as `2025-12-31T23:59:59Z`.
    #[serde(rename = "started", serialize_with = "as_time")]
    pub started_micros: i64,
    /// End time in microseconds since 1970.
    #[serde(rename = "finished", serialize_with = "as_time")]
    pub finished_micros: i64,
    /// Reason for the end, such as `empty` or `limit`.
    pub ended_by: String,
    /// The crawl's settings, frozen at its start.
    #[serde(serialize_with = "in_order")]
    pub settings: Value,
    /// How much data this crawl stored.
    pub counts: EndedCrawlCounts,
}

/// How much data a live crawl stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EndedCrawlCounts {
    /// Rows in the crawl's index.
    pub captures: u64,
    /// Index rows per subset. `crawl.json` contains 0 for a subset that this map lacks.
    #[serde(serialize_with = "by_name")]
    pub by_subset: BTreeMap<ArchiveSubset, u64>,
    /// Archives written by the crawl.
    pub archives: u64,
    /// Total archive size in bytes.
    pub bytes: u64,
    /// Redirecting home pages whose index row points to the record of the redirect's target.
    pub home_redirects: u64,
    /// Captures whose body is in an earlier record.
    pub revisits: u64,
}

impl EndedCrawl {
    /// Returns the content of `crawl.json` as indented JSON with a line end.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("all keys are strings");
        bytes.push(b'\n');
        bytes
    }
}

fn as_time<S: Serializer>(micros: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_seconds(*micros))
}

fn by_name<S: Serializer>(
    counts: &BTreeMap<ArchiveSubset, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(ArchiveSubset::ALL.len()))?;
    for subset in ArchiveSubset::ALL {
        map.serialize_entry(subset.as_str(), &counts.get(&subset).copied().unwrap_or_default())?;
    }
    map.end()
}

/// Sorts the keys, because `serde_json` keeps the insertion order if any package enables its
/// feature `preserve_order`.
fn in_order<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    sorted(value).serialize(serializer)
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Object(map) => {
            let map: BTreeMap<&String, &Value> = map.iter().collect();
            map.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_document_is_deterministic() {
        let crawl = EndedCrawl {
            name: "LIVE-20251231235959-0a1b2c3d".into(),
            id: "0198".into(),
            started_micros: 1_767_225_599_000_000,
            finished_micros: 1_767_229_200_000_000,
            ended_by: "empty".into(),
            settings: json!({"scope": "site", "depth": 16, "filter": {"b": [{"d": 1, "c": "é"}]}}),
            counts: EndedCrawlCounts {
                captures: 5,
                by_subset: BTreeMap::from([(ArchiveSubset::Media, 2), (ArchiveSubset::Warc, 3)]),
                archives: 1,
                bytes: 9,
                home_redirects: 1,
                revisits: 2,
            },
        };
        let expected = r#"{
  "name": "LIVE-20251231235959-0a1b2c3d",
  "id": "0198",
  "started": "2025-12-31T23:59:59Z",
  "finished": "2026-01-01T01:00:00Z",
  "ended_by": "empty",
  "settings": {
    "depth": 16,
    "filter": {
      "b": [
        {
          "c": "é",
          "d": 1
        }
      ]
    },
    "scope": "site"
  },
  "counts": {
    "captures": 5,
    "by_subset": {
      "warc": 3,
      "crawldiagnostics": 0,
      "robotstxt": 0,
      "media": 2
    },
    "archives": 1,
    "bytes": 9,
    "home_redirects": 1,
    "revisits": 2
  }
}
"#;
        assert_eq!(String::from_utf8(crawl.to_json()).unwrap(), expected);
    }
}
