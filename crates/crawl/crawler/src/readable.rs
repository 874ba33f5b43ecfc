//! A response to parse for links and text: the received response, or the stored copy of a page that
//! has not changed.

use std::net::IpAddr;

use everytab_commoncrawl::warc::HttpResponse;
use everytab_fetcher::PageFetchResult;

pub(crate) struct ReadableResponse<'a> {
    pub headers: Vec<(String, Vec<u8>)>,
    /// The declared content type, without parameters and in lower case.
    pub content_type: Option<String>,
    /// Empty if the body could not be decoded.
    pub body: &'a [u8],
    pub address: Option<IpAddr>,
}

impl<'a> ReadableResponse<'a> {
    pub(crate) fn of(fetched: &'a PageFetchResult) -> Self {
        let address = fetched.exchanges.last().map(|exchange| exchange.address.ip());
        let content_type = fetched.content_type();
        let body = if fetched.is_coded { &[][..] } else { &fetched.body };
        Self { headers: headers_of(fetched), content_type, body, address }
    }

    /// Wraps a page's copy. `X-Robots-Tag` fields in the response that reports no change apply,
    /// too.
    pub(crate) fn of_copy(
        copy: &'a HttpResponse,
        content_type: Option<String>,
        fetched: &PageFetchResult,
    ) -> Self {
        let mut headers = copy.headers.fields().to_vec();
        headers.extend(headers_of(fetched).into_iter().filter(|(name, _)| name == "x-robots-tag"));
        let address = fetched.exchanges.last().map(|exchange| exchange.address.ip());
        Self { headers, content_type, body: &copy.body, address }
    }

    pub(crate) fn is_text(&self) -> bool {
        self.content_type.as_ref().is_some_and(|kind| kind.starts_with("text/"))
    }

    /// Responses without a content type are parsed as HTML, too.
    pub(crate) fn is_html(&self) -> bool {
        let kind = self.content_type.as_deref();
        kind.is_none_or(|kind| matches!(kind, "text/html" | "application/xhtml+xml"))
    }
}

fn headers_of(fetched: &PageFetchResult) -> Vec<(String, Vec<u8>)> {
    let headers = fetched.headers.iter();
    headers.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect()
}
