//! Decides whether a fetched page is kept, by its crawl's filters and the page's robots directives.
//!
//! This module does not depend on how a page is recorded.

use everytab_filters::{ClassifierRequest, Decision, FilterVerdict, PageContent, language_of};
use everytab_frontier::{CanonicalUrl, ParameterList};
use everytab_webpage::RobotsDirectives;

use super::classifier_client::classify;
use crate::{crawl::Crawl, metrics, readable::ReadableResponse};

/// The outcome for a page with a `noarchive` directive.
pub(crate) const NOARCHIVE: &str = "noarchive";

/// The content of a parsed page.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadPage {
    /// The page's title.
    pub title: String,
    /// The page's visible text. If the page is not HTML, this is empty unless a filter or the
    /// search needs it.
    pub text: String,
    /// The page's robots directives.
    pub robots: RobotsDirectives,
}

/// The decision about a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Judgement {
    /// The outcome if the page's body is not stored. `None` if it is stored.
    pub refused: Option<&'static str>,
    /// Whether the page's links are ignored: neither followed nor counted.
    pub is_dropped: bool,
    /// Whether the page's links to other pages are not followed.
    pub is_nofollow: bool,
    /// The language of the page's text, if a filter needs it.
    pub language: Option<&'static str>,
}

/// Decides about a page.
pub(crate) async fn judge(
    crawl: &Crawl,
    url: &str,
    response: &ReadableResponse<'_>,
    page: &ReadPage,
    parameters: &ParameterList,
) -> Judgement {
    let mut judgement = Judgement {
        refused: page.robots.is_noarchive.then_some(NOARCHIVE),
        ..Judgement::default()
    };
    let filters = &crawl.filters;
    let Some(url) = CanonicalUrl::parse(url, parameters).ok().filter(|_| !filters.is_empty())
    else {
        return judgement;
    };
    if filters.needs_language() {
        judgement.language = language_of(&page.text);
    }
    let content = PageContent {
        content_type: response.content_type.as_deref(),
        address: response.address,
        title: &page.title,
        text: &page.text,
        language: judgement.language,
    };
    judgement.obey(filters.decide_content(&url, &content));
    for classifier in filters.classifiers(&url) {
        if judgement.is_dropped {
            break;
        }
        let language = judgement.language;
        let question = ClassifierRequest::new(url.fetched(), &page.title, &page.text, language);
        match classify(&classifier.socket, &question).await {
            Ok(response) => {
                metrics::classified(response.verdict.as_str());
                judgement.obey(response.decision(classifier));
            }
            Err(failure) => metrics::classified(failure.as_str()),
        }
    }
    judgement
}

impl Judgement {
    fn obey(&mut self, decision: Option<Decision>) {
        match decision.map(|decision| (decision.verdict, decision.by)) {
            Some((FilterVerdict::Drop, by)) => {
                self.is_dropped = true;
                self.refused = Some(by.outcome());
            }
            Some((FilterVerdict::Nofollow, _)) => self.is_nofollow = true,
            Some((FilterVerdict::Keep, _)) | None => {}
        }
    }
}
