//! `inspect text`: prints the visible text of pages, as search and filters use it.

use clap::Args;
use everytab_webpage::{TextRequest, plain_text, text::DEFAULT_TEXT_BYTES, understand_with_text};
use serde::Serialize;

use super::{
    input::{AddressKind, Input, InputArgs, Unread},
    lines::Lines,
    links::page_url,
};
use crate::cli_error::CliResult;

#[derive(Debug, Args)]
pub(super) struct TextArgs {
    /// URL of the pages in files
    #[arg(long, env = "EVERYTAB_URL", default_value = "https://example.com/")]
    url: String,
    /// Maximum bytes of text to print per page
    #[arg(long, env = "EVERYTAB_TEXT_BYTES", default_value_t = DEFAULT_TEXT_BYTES)]
    text_bytes: usize,
    /// Treat the inputs as plain text instead of HTML
    #[arg(long, env = "EVERYTAB_PLAIN")]
    plain: bool,
    #[command(flatten)]
    input: InputArgs,
}

#[derive(Debug, Default, Serialize)]
struct TextLine {
    page: String,
    charset: Option<String>,
    title: Option<String>,
    text: Option<String>,
    truncated: Option<bool>,
    drawings_left_out: Option<usize>,
    error: Option<String>,
}

/// Prints each input's text.
///
/// # Errors
/// Returns an error if stdout cannot be written, or if an option is invalid.
pub(super) async fn run(args: TextArgs) -> CliResult {
    let TextArgs { url, text_bytes: max_bytes, plain, input } = args;
    let url = page_url(&url)?;
    let request = TextRequest { max_bytes };
    let same = |address: &str| Ok(address.to_owned());
    let print = |loaded: Result<Input, Unread>, lines: &mut Lines| match loaded
        .and_then(Input::into_page)
    {
        Ok(input) => lines.print(&line(&input, url.as_str(), &request, plain)),
        Err(Unread { name, error }) => {
            lines.fail(&TextLine { page: name, error: Some(error), ..TextLine::default() })
        }
    };
    input.each(AddressKind::Page, same, print).await
}

fn line(input: &Input, url: &str, request: &TextRequest, is_plain: bool) -> TextLine {
    let Input { name, headers, body, .. } = input;
    let url = input.url.as_deref().unwrap_or(url);
    let (page, text) = if is_plain {
        (None, plain_text(headers, body, request))
    } else {
        let (page, text) = understand_with_text(url, headers, body, request);
        (Some(page), text)
    };
    TextLine {
        page: name.clone(),
        charset: page.as_ref().map(|page| page.charset.clone()),
        title: page.map(|page| page.title.text),
        text: Some(text.text),
        truncated: Some(text.is_truncated),
        drawings_left_out: Some(text.drawings_left_out),
        error: None,
    }
}
