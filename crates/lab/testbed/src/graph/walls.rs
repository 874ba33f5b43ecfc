//! Pages behind a cookie wall. Without the page's cookie, a client is redirected to the URL that
//! sets it, and from there back. Half of these walls set the cookie with a redirect to the page
//! itself.

use super::{
    reply::GraphAnswer,
    request::GraphRequest,
    world::{GraphPage, PageKind, SiteGraph},
};

impl SiteGraph {
    pub(super) fn check_target(&self, page: GraphPage) -> Option<String> {
        let has_check = self.kind(page) == PageKind::Walled && page.page.is_multiple_of(2);
        has_check.then(|| format!("/check/{}.html", page.page))
    }

    pub(super) fn wall(&self, host: u64, request: &GraphRequest<'_>) -> Option<GraphAnswer> {
        let cookie = |page: GraphPage| format!("wall{}=1", page.page);
        let opened = |page: GraphPage| {
            GraphAnswer::redirect(302, self.target(page)).with("set-cookie", cookie(page))
        };
        let number = request.target.strip_prefix("/check/");
        if let Some(number) = number.and_then(|rest| rest.strip_suffix(".html")) {
            let page = GraphPage { host, page: number.parse().ok()? };
            return self.check_target(page).map(|_| opened(page));
        }
        let page = self.page_of_target(host, request.target)?;
        let is_sent = request
            .cookie
            .is_some_and(|sent| sent.split(';').any(|pair| pair.trim() == cookie(page)));
        if self.kind(page) != PageKind::Walled || is_sent {
            return None;
        }
        Some(match self.check_target(page) {
            Some(check) => GraphAnswer::redirect(302, check),
            None => opened(page),
        })
    }
}
