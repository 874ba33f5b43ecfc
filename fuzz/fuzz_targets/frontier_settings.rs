//! Reads any text as what users and operators write: patterns, priorities, scopes and lists of
//! suffixes. It gives an error, or something that answers for any URL.
#![no_main]

use everytab_frontier::{PriorityWords, Scope, SuffixList, UrlPatterns};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let subject = lines.last().copied().unwrap_or_default();
    if let Ok(patterns) = UrlPatterns::compile(&lines) {
        assert_eq!(patterns.matches(subject), patterns.first_match(subject).is_some());
    }
    if let Ok(words) = PriorityWords::parse(&lines) {
        assert!(words.priority(subject, 3) <= 7);
    }
    if let Ok(scope) = text.parse::<Scope>() {
        assert_eq!(scope.as_str(), text);
    }
    let list = format!("// ===BEGIN ICANN DOMAINS===\n{text}");
    if let Ok(suffixes) = SuffixList::parse(&list, &lines) {
        let site = suffixes.site_of(subject);
        assert!(subject.ends_with(site), "{site}");
    }
});
