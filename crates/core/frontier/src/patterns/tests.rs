//! Patterns match exactly like in a regular expression engine, and errors name the patterns that
//! are too expensive.

use proptest::prelude::*;
use regex::bytes::RegexSetBuilder;

use super::*;

fn compile(patterns: &[&str]) -> Result<UrlPatterns, PatternError> {
    let lists = PatternLists { filters: vec![patterns.to_vec()], ..PatternLists::default() };
    UrlPatterns::compile(&lists).map_err(|error| error.error)
}

fn first_match(patterns: &UrlPatterns, text: &str) -> Option<usize> {
    of_key(patterns, &format!("https://{text}")).rule_of(0)
}

fn of_key(patterns: &UrlPatterns, key: &str) -> UrlMatches {
    UrlMatches(search(&patterns.tables, key.as_bytes()))
}

#[test]
fn globs_match_the_whole_of_host_and_path() {
    let cases = [
        ("example.com/blog/*", "example.com/blog/a/b?c", true),
        ("example.com/blog/*", "www.example.com/blog/a", false),
        ("example.com/blog/*", "example.com/blog", false),
        ("example.com", "example.com/any", true),
        ("example.com", "example.com:8080/any", true),
        ("example.com", "example.com.evil.example/any", false),
        ("*.example.com", "www.example.com/", true),
        ("*.example.com", "example.com/", false),
        ("example.*", "example.com:80/x", true),
        ("example.*", "an.example.com/x", false),
        ("*", "example.com/x", true),
        ("*/*", "example.com/x", true),
        ("*/", "example.com/", true),
        ("*/", "example.com/x", false),
        ("*/private/*", "a.example/x/private/y", true),
        ("*/a*c*e", "a.example/abcde", true),
        ("*/a*c*e", "a.example/acbd", false),
        ("*/a**e", "a.example/ae", true),
        ("*/a?b=*", "a.example/a?b=1", true),
        ("*/a?b=*", "a.example/axb=1", false),
        ("*/ü", "a.example/%C3%BC", true),
        ("*/(a", "a.example/(a", true),
        ("*.pdf", "a.example/x.pdf", false),
        ("*/*.pdf", "a.example/x.pdf", true),
        ("*/*.pdf", "a.example/x.pdf?y", false),
    ];
    for (glob, text, expected) in cases {
        let patterns = compile(&[glob]).unwrap();
        assert_eq!(first_match(&patterns, text).is_some(), expected, "{glob} {text}");
    }
}

#[test]
fn each_list_has_its_own_first_match_and_words_are_of_the_whole_key() {
    let lists = PatternLists {
        exclude: vec!["*/x"],
        include: vec!["re:^a[.]example/"],
        filters: vec![vec!["*/y", r"re:/\d{4}/", "re:(?i)ARCHIVE"], vec!["re:archive$"]],
        words: vec!["https", "arch", "ive/"],
    };
    let patterns = UrlPatterns::compile(&lists).unwrap();
    let matches = of_key(&patterns, "https://a.example/2026/archive");
    assert!(!matches.is_excluded() && matches.is_included());
    assert_eq!((matches.rule_of(0), matches.rule_of(1)), (Some(1), Some(0)));
    assert_eq!(matches.words(), 0b011);
    let matches = of_key(&patterns, "http://b.example/archive/x");
    assert!(matches.is_excluded() && !matches.is_included());
    assert_eq!((matches.rule_of(0), matches.rule_of(1)), (Some(2), None));
    assert_eq!(matches.words(), 0b110);
    assert_eq!(of_key(&UrlPatterns::default(), "http://a.example/"), UrlMatches::default());
    assert!(patterns.has_include() && patterns.has_words() && patterns.memory_bytes() > 0);
}

#[test]
fn bad_patterns_are_errors_that_name_them() {
    let error = |pattern: &str| compile(&["a", pattern]).unwrap_err();
    assert_eq!(error(""), PatternError::Length { number: 2 });
    assert_eq!(error(&"x".repeat(1_025)), PatternError::Length { number: 2 });
    assert_eq!(error("https://a.example/*"), PatternError::SchemeInGlob { number: 2 });
    assert_eq!(error("bücher.example/*"), PatternError::HostInGlob { number: 2 });
    assert_eq!(error("A.example/*"), PatternError::HostInGlob { number: 2 });
    let text = error("re:(a").to_string();
    assert_eq!(text, "pattern 2: unclosed group");
    assert!(error(r"re:(a)\1").to_string().contains("backreferences are not supported"));
    assert_eq!(compile(&["a"; 1_001]).err(), Some(PatternError::TooMany));
    let words = vec!["a"; MAX_WORDS + 1];
    let error = UrlPatterns::compile(&PatternLists { words, ..PatternLists::default() });
    assert_eq!(error.unwrap_err().list, UrlPatternList::Words);
}

#[test]
fn patterns_over_the_cost_limit_are_rejected_by_name() {
    let too_complex = [
        "re:((a{99}){99}){99}",
        "re:(?:.?){24000}[^a-z0-9/.:_?=-]",
        "re:^(?:.?){3000}[^a-z0-9/.:_?=-]",
        "re:[a-m][a-z0-9./_-]{200}%",
        "re:(?i)[a-m][^%]{2000}%",
        "re:[ab].{16}c",
        "re:(a|b)*a(a|b){14}",
    ];
    for pattern in too_complex {
        let error = compile(&["a", pattern]).expect_err(pattern);
        assert_eq!(error, PatternError::TooComplex { number: 2 }, "{pattern}");
        assert!(error.is_of_cost() && error.to_string().starts_with("pattern 2 is too complex"));
    }
    // This pattern has just as many active states, but they are always the same.
    assert!(compile(&["re:(?:.?){3000}[^a-z0-9/.:_?=-]"]).is_ok());
    // Each of these patterns fits alone, but they do not fit together.
    let hosts: Vec<String> =
        (0..1_000).map(|n| format!("*.{n}-of-a-thousand-hosts.example")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    assert!(matches!(compile(&hosts), Err(PatternError::TooLarge { .. })));
    let two_parts: Vec<String> = (0..100).map(|n| format!("*/{n}/*page={n}")).collect();
    let two_parts: Vec<&str> = two_parts.iter().map(String::as_str).collect();
    assert!(matches!(compile(&two_parts), Err(PatternError::TooLarge { .. })));
    let lists = PatternLists {
        exclude: vec!["re:[ab].{10}x", "re:[cd].{10}x"],
        include: vec!["re:[ef].{10}x", "re:[gh].{10}x"],
        words: vec!["word"],
        filters: vec![vec!["re:[ij].{10}x"]],
    };
    let error = UrlPatterns::compile(&lists).unwrap_err();
    assert_eq!(error.list, UrlPatternList::Filter(0));
    assert_eq!(error.error, PatternError::TooLarge { number: 1 });
}

#[test]
fn patterns_that_fit_alone_are_never_called_complex_among_others() {
    for pattern in ["re:[ab].{10}x", r"re:/\d{4}/\d{2}/", "*/a/*page="] {
        assert!(compile(&[pattern]).is_ok(), "{pattern}");
        for number in (2..200).step_by(11) {
            let many: Vec<String> = (0..number).map(|n| format!("{pattern}{n}")).collect();
            let many: Vec<&str> = many.iter().map(String::as_str).collect();
            let result = compile(&many);
            let is_fair = matches!(result, Ok(_) | Err(PatternError::TooLarge { .. }));
            assert!(is_fair, "{number} of {pattern}");
        }
    }
}

#[test]
fn typical_patterns_fit() {
    let real = [
        r"re:[?&](sort|order|dir|view|print)=",
        r"re:/(login|logout|signup|cart|checkout|account)\b",
        r"re:/\d{4}/\d{2}/\d{2}/",
        r"re:\.(?:jpg|jpeg|png|gif|css|js|pdf|zip)(\?.*)?$",
        r"re:(?i)calendar",
        r"re:[?&]page=\d{3,}",
        r"re:/tag/[^/]+/page/\d+",
        r"re:[?&]replytocom=\d+",
        r"re:/wp-(admin|json|content)/",
        r"re:(?i)/(print|share|email)/",
        r"re:\?.*&.*&.*&",
        r"re:/(19|20)[0-9]{2}/(0[1-9]|1[0-2])/",
        r"re:[0-9a-f]{32}",
        r"re:[?&](utm_[a-z]+|ref|fbclid)=",
        r"re:/cgi-bin/.*\.(pl|cgi)",
        r"re:^www\.example\.com/forum/.*/(post|reply|quote)",
        "*/search?*",
        "www.example.com/shop/*",
        "*/*.pdf",
    ];
    let paths: Vec<String> = (0..400).map(|n| format!("www.example.com/a/{n}/*")).collect();
    let words: Vec<String> = (0..64).map(|n| format!("word-{n}")).collect();
    let lists = PatternLists {
        exclude: real.to_vec(),
        include: paths.iter().map(String::as_str).collect(),
        filters: vec![vec!["*/b/*"]; MAX_FILTER_LISTS],
        words: words.iter().map(String::as_str).collect(),
    };
    let patterns = UrlPatterns::compile(&lists).unwrap();
    let matches = of_key(&patterns, "http://www.example.com/a/7/b/word-63");
    assert!(matches.is_included() && !matches.is_excluded());
    assert_eq!(matches.rule_of(MAX_FILTER_LISTS - 1), Some(0));
    assert_eq!(matches.words(), 1 << 63 | 1 << 6);
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[abc/.]",
        Just("[ab]".to_owned()),
        Just("[^a]".to_owned()),
        Just(".".to_owned()),
        Just("^".to_owned()),
        Just("$".to_owned()),
        Just(r"\b".to_owned()),
        Just(r"\B".to_owned()),
        Just(r"\b{start}".to_owned()),
        Just(r"\b{end}".to_owned()),
        Just(r"\b{end-half}".to_owned()),
        Just("(?i:B)".to_owned()),
        Just(r"\w".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("(?:{one}|{other})")),
            (inner, prop_oneof!["[*+?]", Just("{2}".to_owned()), Just("{0,3}?".to_owned())])
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
        ]
    })
}

proptest! {
    #[test]
    fn patterns_match_like_a_regular_expression_engine(
        lists in proptest::collection::vec(proptest::collection::vec(expression(), 0..4), 1..4),
        words in proptest::collection::vec("[abc/.:]{1,3}", 0..4),
        text in "[abcB/.:]{0,12}",
    ) {
        let prefixed: Vec<Vec<String>> = lists
            .iter()
            .map(|list| list.iter().map(|pattern| format!("re:{pattern}")).collect())
            .collect();
        let filters = prefixed.iter().map(|list| list.iter().map(String::as_str).collect());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let given = PatternLists { filters: filters.collect(), words, ..PatternLists::default() };
        let patterns = UrlPatterns::compile(&given).unwrap();
        let key = format!("http://{text}");
        let matches = of_key(&patterns, &key);
        for (number, list) in lists.iter().enumerate() {
            let oracle = RegexSetBuilder::new(list).unicode(false).build().unwrap();
            let expected = oracle.matches(text.as_bytes()).iter().next();
            prop_assert_eq!(matches.rule_of(number), expected, "{:?} {}", list, text);
        }
        for (bit, word) in given.words.iter().enumerate() {
            let is_found = matches.words() & (1 << bit) != 0;
            prop_assert_eq!(is_found, key.to_lowercase().contains(word), "{} {}", word, key);
        }
    }

    #[test]
    fn any_pattern_compiles_or_is_an_error(
        pattern in "(re:)?\\PC{0,20}", text in "\\PC{0,20}",
    ) {
        if let Ok(patterns) = compile(&[&pattern]) {
            let _ = first_match(&patterns, &text);
        }
    }
}
