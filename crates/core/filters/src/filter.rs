//! A compiled filter, and its decisions. Only the first matching pattern counts, unknown values
//! drop nothing, and cheap checks come first.

use std::{net::IpAddr, sync::Arc};

use crate::{
    content::PageContent,
    countries::country_of_host,
    decision::{DecidedBy, Decision, FilterVerdict},
    languages::language_code,
    list::{CountryRanges, NameList, UrlNames},
    selection::Selection,
    settings::{
        ClassifierSettings, CountrySettings, FilterError, FilterSettings, ListMode, RuleSettings,
        WordPlace,
    },
    words::Words,
};

/// A loaded list.
#[derive(Debug, Clone)]
pub enum LoadedList {
    /// Hostnames, domains and URLs.
    Names(Arc<NameList>),
    /// Address ranges and their countries.
    Countries(Arc<CountryRanges>),
}

#[derive(Debug, Clone)]
struct UsedList {
    mode: ListMode,
    /// The list, and the positions of the categories that count. `None` if this list is not loaded.
    names: Option<(Arc<NameList>, Vec<usize>)>,
}

#[derive(Debug, Clone)]
struct UsedWords {
    words: Words,
    threshold: i64,
    in_title: bool,
    in_text: bool,
}

/// URL parts on which a filter decides, as in `everytab_frontier::CanonicalUrl`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UrlParts<'a> {
    pub host: &'a str,
    /// Host, port, path and query: the key without its scheme.
    pub text: &'a str,
}

/// A compiled filter.
#[derive(Debug, Clone)]
pub struct Filter {
    rules: Vec<RuleSettings>,
    lists: Vec<UsedList>,
    words: Option<UsedWords>,
    /// Languages as ISO 639-3 codes.
    languages: Option<(Selection, Vec<&'static str>)>,
    countries: Option<CountrySettings>,
    ranges: Option<Arc<CountryRanges>>,
    types: Option<Selection>,
    classifier: Option<ClassifierSettings>,
    is_complete: bool,
}

impl Filter {
    /// Compiles a filter, except its patterns, which [`FilterSet`](crate::FilterSet) compiles
    /// together. `list` returns imported lists by name.
    ///
    /// # Errors
    /// Returns an error for the first field that is invalid, or does not fit its list.
    pub fn compile(
        settings: &FilterSettings,
        list: impl Fn(&str) -> Option<LoadedList>,
    ) -> Result<Self, FilterError> {
        settings.check_all_but_patterns()?;
        let lists = used_lists(settings, &list)?;
        let addresses = settings.countries.as_ref().and_then(|set| set.addresses.as_deref());
        let ranges = match addresses.map(list) {
            Some(Some(LoadedList::Countries(ranges))) => Some(ranges),
            Some(Some(LoadedList::Names(_))) => {
                let reason = "the list contains names instead of address ranges";
                return Err(FilterError::new("countries.addresses", reason));
            }
            Some(None) | None => None,
        };
        let words = settings.words.as_ref().map(|words| {
            Ok::<_, FilterError>(UsedWords {
                words: words.compile()?,
                threshold: words.threshold,
                in_title: words.places.contains(&WordPlace::Title),
                in_text: words.places.contains(&WordPlace::Text),
            })
        });
        let codes = |which: &Selection| {
            which.values().iter().filter_map(|code| language_code(code)).collect()
        };
        let is_complete = lists.iter().all(|list| list.names.is_some())
            && (addresses.is_none() || ranges.is_some());
        Ok(Self {
            rules: settings.rules.clone(),
            lists,
            words: words.transpose()?,
            languages: settings.languages.clone().map(|which| (which.clone(), codes(&which))),
            countries: settings.countries.clone(),
            ranges,
            types: settings.types.clone(),
            classifier: settings.classifier.clone(),
            is_complete,
        })
    }

    pub(crate) fn patterns(&self) -> Vec<&str> {
        self.rules.iter().map(|rule| rule.pattern.as_str()).collect()
    }

    /// Returns true if all lists that this filter names are loaded.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns true if this filter needs a page's language.
    #[must_use]
    pub fn needs_language(&self) -> bool {
        self.languages.is_some() || self.classifier.is_some()
    }

    /// Returns true if this filter needs a page's title or text.
    #[must_use]
    pub fn needs_text(&self) -> bool {
        self.needs_language() || self.words.is_some()
    }

    /// Returns this filter's classifier.
    #[must_use]
    pub fn classifier(&self) -> Option<&ClassifierSettings> {
        self.classifier.as_ref()
    }

    /// `rule` is the position of the first matching rule.
    pub(crate) fn decide_url(
        &self,
        url: UrlParts<'_>,
        rule: Option<usize>,
        is_exempt: bool,
    ) -> Option<Decision> {
        let by_rule = self.decision_of(rule);
        if by_rule.is_some_and(|decision| decision.verdict != FilterVerdict::Nofollow) {
            return by_rule;
        }
        self.by_lists(url, is_exempt).or_else(|| self.by_domain(url.host, is_exempt)).or(by_rule)
    }

    pub(crate) fn decide_content(
        &self,
        url: UrlParts<'_>,
        rule: Option<usize>,
        page: &PageContent<'_>,
    ) -> Option<Decision> {
        let by_rule = self.decision_of(rule);
        if by_rule.is_some_and(|decision| decision.verdict == FilterVerdict::Keep) {
            return by_rule;
        }
        self.by_type(page.content_type)
            .or_else(|| self.by_country(url.host, page.address))
            .or_else(|| self.by_language(page.language))
            .or_else(|| self.by_words(page))
            .or(by_rule)
    }

    fn decision_of(&self, rule: Option<usize>) -> Option<Decision> {
        let number = rule?;
        let verdict = self.rules.get(number)?.verdict;
        Some(Decision { verdict, by: DecidedBy::Rule(number) })
    }

    fn by_lists(&self, url: UrlParts<'_>, is_exempt: bool) -> Option<Decision> {
        if self.lists.is_empty() {
            return None;
        }
        let names = UrlNames::of(url.host, url.text);
        let (mut keeps, mut is_kept) = (false, false);
        for (number, list) in self.lists.iter().enumerate() {
            let Some((list_of, sections)) = &list.names else {
                // A missing list with the mode keep may contain the URL, so keep the URL.
                is_kept |= list.mode == ListMode::Keep;
                continue;
            };
            match list.mode {
                ListMode::Drop if list_of.contains(sections, &names) => {
                    return Some(Decision::dropped(DecidedBy::List(number)));
                }
                ListMode::Drop => {}
                ListMode::Keep => {
                    keeps = true;
                    is_kept = is_kept || list_of.contains(sections, &names);
                }
            }
        }
        let is_dropped = keeps && !is_kept && !is_exempt;
        is_dropped.then_some(Decision::dropped(DecidedBy::NotListed))
    }

    fn by_domain(&self, host: &str, is_exempt: bool) -> Option<Decision> {
        let countries = self.countries.as_ref()?;
        if is_exempt && countries.drop.is_empty() {
            return None;
        }
        let country = country_of_host(host)?;
        let by = DecidedBy::TopLevelDomain(country);
        countries.drops(country).then_some(Decision::dropped(by))
    }

    fn by_type(&self, content_type: Option<&str>) -> Option<Decision> {
        let types = self.types.as_ref()?;
        let found = content_type?;
        let is_named = types.values().iter().any(|wanted| match wanted.strip_suffix('*') {
            Some(prefix) => found.starts_with(prefix),
            None => found == wanted,
        });
        types.drops(is_named).then_some(Decision::dropped(DecidedBy::Type))
    }

    fn by_country(&self, host: &str, address: Option<IpAddr>) -> Option<Decision> {
        let countries = self.countries.as_ref()?;
        let by = match country_of_host(host) {
            Some(country) => DecidedBy::TopLevelDomain(country),
            None => DecidedBy::Address(self.ranges.as_ref()?.country_of(address?)?),
        };
        let (DecidedBy::TopLevelDomain(country) | DecidedBy::Address(country)) = by else {
            return None;
        };
        countries.drops(country).then_some(Decision::dropped(by))
    }

    fn by_language(&self, language: Option<&'static str>) -> Option<Decision> {
        let ((which, codes), found) = (self.languages.as_ref()?, language?);
        let is_dropped = which.drops(codes.contains(&found));
        is_dropped.then_some(Decision::dropped(DecidedBy::Language(found)))
    }

    fn by_words(&self, page: &PageContent<'_>) -> Option<Decision> {
        let used = self.words.as_ref()?;
        let in_title = if used.in_title { used.words.sum(page.title) } else { 0 };
        let in_text = if used.in_text { used.words.sum(page.text) } else { 0 };
        let sum = in_title.saturating_add(in_text);
        (sum >= used.threshold).then_some(Decision::dropped(DecidedBy::Words(sum)))
    }
}

fn used_lists(
    settings: &FilterSettings,
    list: impl Fn(&str) -> Option<LoadedList>,
) -> Result<Vec<UsedList>, FilterError> {
    let mut used = Vec::with_capacity(settings.lists.len());
    for (number, of) in settings.lists.iter().enumerate() {
        let names = match list(&of.name) {
            None => None,
            Some(LoadedList::Countries(_)) => {
                let reason = "the list contains address ranges instead of names";
                return Err(FilterError::new(format!("lists[{number}].name"), reason));
            }
            Some(LoadedList::Names(names)) => {
                let sections = names.sections_of(&of.categories).map_err(|category| {
                    let reason = format!("the list {:?} has no category {category:?}", of.name);
                    FilterError::new(format!("lists[{number}].categories"), reason)
                })?;
                Some((names, sections))
            }
        };
        used.push(UsedList { mode: of.mode, names });
    }
    Ok(used)
}

#[cfg(test)]
mod tests;
