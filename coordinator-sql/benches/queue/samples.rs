//! Generates rows with the sizes that a scan of the web records.
//!
//! The sizes are averages from a crawl's home pages: titles have 45 bytes, each page has 3.7
//! candidates with 80 bytes, and URLs have 60 to 80 bytes. The hashes are pseudo-random, so that
//! they do not compress.

use everytab_coordinator::{BundleRow, IconRow, JobKind, Output, PageRow};
use serde_json::{Value, json};

pub(crate) const PAGES: i32 = 1_200;
/// Icons per shard: 3.7 for each host.
pub(crate) const ICONS: i32 = 4_440;

pub(crate) fn output(kind: JobKind, shard: i32) -> Output {
    match kind {
        JobKind::Warc => Output::Pages((0..PAGES).map(|n| page(shard, n)).collect()),
        JobKind::Icon => Output::Icons((0..ICONS).map(|n| icon(shard, n)).collect()),
        JobKind::BundleShard => Output::Bundles(BundleRow {
            first_bundle: shard * 10,
            bundles: 10,
            tabs: PAGES,
            with_icon: 900,
            bytes: 1_500_000,
            digest: digest(shard, 0),
        }),
        _ => Output::Nothing,
    }
}

pub(crate) fn stats() -> Value {
    let names = ["ok", "dns", "timeout", "refused", "reset", "http_4xx", "http_5xx", "not_image"];
    let outcomes: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!(150))).collect();
    json!({"inputs": {"hosts": 1_200}, "outcomes": outcomes,
           "counts": {"candidates": 4_440, "candidates_left_out": 31, "bytes": 18_432_113,
                      "requests": 5_210, "from_cache": 212, "robots": 1_160},
           "milliseconds": {"load": 21, "run": 61_202}})
}

pub(crate) fn least_stats(hosts: u64) -> Value {
    json!({"inputs": {}, "outcomes": {}, "counts": {"hosts": hosts}})
}

pub(crate) fn icon(shard: i32, n: i32) -> IconRow {
    let digest = digest(shard, n);
    let hex = hex(&digest, 6);
    let ok = n % 5 != 0;
    IconRow {
        host_no: n * PAGES / ICONS,
        candidate_no: i16::try_from(n % 4).unwrap_or_default(),
        touch: n % 4 == 3,
        width: ok.then_some(32),
        height: ok.then_some(32),
        bytes: ok.then_some(4_286),
        archive_offset: ok.then_some(i64::from(n) * 4_500),
        archive_length: ok.then_some(4_500),
        sha256: ok.then(|| digest.to_vec()),
        outcome: if ok { "ok" } else { "http_4xx" }.into(),
        content_type: ok.then(|| "image/png".into()),
        url: format!("https://www.{hex}-site.example/wp-content/uploads/2024/05/{hex}-32x32.png"),
    }
}

fn page(shard: i32, n: i32) -> PageRow {
    let digest = digest(shard, n);
    let hex = hex(&digest, 6);
    let hostname = format!("www.{hex}-site.example");
    let candidates: Vec<Value> = (0..3 + n % 2)
        .map(|at| {
            json!({"url": format!("https://{hostname}/wp-content/uploads/{hex}-{at}.png"),
                   "source": "link_rel", "declared_type": "image/png",
                   "declared_sizes": "32x32", "apple_touch": at == 3})
        })
        .collect();
    PageRow {
        host_no: n,
        hostname,
        https: true,
        frameable: n % 3 == 0,
        framing_rule: "x_frame_options".into(),
        charset: Some("UTF-8".into()),
        title_state: "ok".into(),
        title: Some(format!("Home of {hex} | The best of everything")),
        candidates: Value::from(candidates).to_string(),
        outcome: "ok".into(),
    }
}

/// Returns 32 pseudo-random bytes (splitmix64).
fn digest(shard: i32, n: i32) -> [u8; 32] {
    let mut state = (u64::from(shard.unsigned_abs()) << 32) | u64::from(n.unsigned_abs());
    let mut bytes = [0; 32];
    for part in bytes.chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        part.copy_from_slice(&(mixed ^ (mixed >> 31)).to_be_bytes());
    }
    bytes
}

fn hex(bytes: &[u8], most: usize) -> String {
    bytes.iter().take(most).map(|byte| format!("{byte:02x}")).collect()
}
