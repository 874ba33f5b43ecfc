//! Decides whether a fetched page is kept, by its crawl's filters and the page's robots directives.

use everytab_filters::{ClassifierRequest, Decision, FilterVerdict, PageContent, language_of};
use everytab_frontier::{CanonicalUrl, ParameterList};
use everytab_webpage::RobotsDirectives;

use super::classifier_client::classify;
use crate::{crawl::Crawl, metrics, readable::ReadableResponse};

pub(crate) const NOARCHIVE: &str = "noarchive";

#[derive(Debug, Clone, Default)]
pub(crate) struct ReadPage {
    pub title: String,
    /// Visible text. Empty if the page is not HTML and neither a filter nor the search needs it.
    pub text: String,
    pub robots: RobotsDirectives,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Judgement {
    pub refused: Option<&'static str>,
    /// Whether the page's links are ignored: neither followed nor counted.
    pub is_dropped: bool,
    pub is_nofollow: bool,
    pub language: Option<&'static str>,
}

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
