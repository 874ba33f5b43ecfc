//! Parses any string as patterns, priorities, scopes and suffix lists. Valid settings must work for
//! any URL.
#![no_main]

use everytab_frontier::{
    CanonicalUrl, ParameterList, PatternLists, PriorityWords, Scope, SuffixList, UrlPatterns,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let subject = lines.last().copied().unwrap_or_default();
    let url = format!("http://a.example/{subject}");
    let url = CanonicalUrl::parse(&url, &ParameterList::default());
    let words = PriorityWords::parse(&lines).unwrap_or_default();
    let lists =
        PatternLists { exclude: lines.clone(), words: words.words(), ..PatternLists::default() };
    if let (Ok(patterns), Ok(url)) = (UrlPatterns::compile(&lists), url) {
        let matches = patterns.matches(&url);
        assert!(words.priority(&matches, 3) <= 7);
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
