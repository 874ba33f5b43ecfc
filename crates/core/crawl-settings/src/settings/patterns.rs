//! Compiles a crawl's patterns together, because one limit applies to all of them.

use everytab_frontier::{PatternListError, PatternLists, PriorityWords, UrlPatterns};

use crate::frozen_filter::FrozenFilter;

pub(super) fn compile(
    (exclude, include): (&[String], &[String]),
    filters: &[FrozenFilter],
    priorities: &PriorityWords,
) -> Result<UrlPatterns, PatternListError> {
    UrlPatterns::compile(&PatternLists {
        exclude: exclude.iter().map(String::as_str).collect(),
        include: include.iter().map(String::as_str).collect(),
        filters: filters.iter().map(patterns_of).collect(),
        words: priorities.words(),
    })
}

fn patterns_of(frozen: &FrozenFilter) -> Vec<&str> {
    frozen.filter.rules.iter().map(|rule| rule.pattern.as_str()).collect()
}
