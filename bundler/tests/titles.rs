//! What holds for any title.

use everytab_bundler::title::tab_title;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_title_is_bounded_and_stays(title in any::<String>(), repeats in 1usize..50) {
        if let Some(shown) = tab_title(&title.repeat(repeats)) {
            prop_assert!(shown.chars().count() <= 300);
            prop_assert_eq!(tab_title(&shown), Some(shown));
        }
    }
}
