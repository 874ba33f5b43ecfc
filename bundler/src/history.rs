//! `history.json`: a few numbers per scan, for the statistics page.

use serde_json::{Value, json};

/// Maximum scans in the history. This is enough for ten years of monthly scans and takes about 25
/// KB.
const MAX_SCANS: usize = 120;
const KEPT_FIELDS: [&str; 8] = [
    "scan",
    "crawl",
    "generated_at",
    "total_domains",
    "attempted",
    "completed",
    "tabs",
    "tabs_with_icon",
];

/// Adds or replaces a scan's numbers in the history. Malformed bytes are discarded, because a
/// damaged file must not prevent publishing.
#[must_use]
pub fn with_scan(before: Option<&[u8]>, stats: &Value) -> Value {
    let before = before.and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    let known = before.as_ref().and_then(|value| value["scans"].as_array());
    let mut scans: Vec<Value> = known.into_iter().flatten().cloned().collect();
    scans.retain(|scan| scan["scan"].is_string() && scan["scan"] != stats["scan"]);
    scans.push(KEPT_FIELDS.iter().map(|name| (*name, stats[name].clone())).collect());
    // Sorting by id sorts by start time.
    scans.sort_by(|a, b| a["scan"].as_str().cmp(&b["scan"].as_str()));
    let too_many = scans.len().saturating_sub(MAX_SCANS);
    json!({ "scans": scans.split_off(too_many) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_stands_once_in_the_order_of_scans() {
        let stats = |scan: &str, tabs: u64| json!({"scan": scan, "tabs": tabs, "stages": {}});
        let bytes = |value: &Value| value.to_string().into_bytes();
        let one = with_scan(Some(b"no JSON"), &stats("b", 2));
        let two = with_scan(Some(&bytes(&one)), &stats("a", 1));
        let again = with_scan(Some(&bytes(&two)), &stats("b", 3));
        let seen: Vec<_> =
            again["scans"].as_array().unwrap().iter().map(|s| (&s["scan"], &s["tabs"])).collect();
        assert_eq!(seen, [(&json!("a"), &json!(1)), (&json!("b"), &json!(3))]);
        assert!(again["scans"][0].get("stages").is_none());
        let mut long = Value::Null;
        for scan in 1_000..1_200 {
            long = with_scan(Some(&bytes(&long)), &stats(&scan.to_string(), scan));
        }
        assert_eq!(long["scans"].as_array().unwrap().len(), MAX_SCANS);
        assert_eq!(long["scans"][0]["scan"], "1080");
    }
}
