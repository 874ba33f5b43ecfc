//! The table of cases that selection here and in SQL must pass alike.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use everytab_bundler::select::{Candidate, best_first};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    name: String,
    icons: Vec<Icon>,
    best_first: Vec<String>,
}

#[derive(Deserialize)]
struct Icon {
    url: String,
    apple_touch: bool,
    outcome: String,
    content_type: Option<String>,
    width: Option<u32>,
    height: Option<u32>,
    bytes: Option<u64>,
}

fn candidate(icon: &Icon) -> Candidate<'_> {
    Candidate {
        url: &icon.url,
        apple_touch: icon.apple_touch,
        outcome: &icon.outcome,
        content_type: icon.content_type.as_deref(),
        width: icon.width,
        height: icon.height,
        bytes: icon.bytes,
    }
}

#[test]
fn every_case_of_the_table_holds_in_any_input_order() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("select_cases.json")).unwrap();
    assert!(cases.len() >= 30);
    for case in &cases {
        let mut candidates: Vec<_> = case.icons.iter().map(candidate).collect();
        for _ in 0..candidates.len().max(1) {
            let order: Vec<_> =
                best_first(&candidates).into_iter().map(|index| candidates[index].url).collect();
            assert_eq!(order, case.best_first, "{}", case.name);
            let step = usize::from(!candidates.is_empty());
            candidates.rotate_left(step);
        }
    }
}
