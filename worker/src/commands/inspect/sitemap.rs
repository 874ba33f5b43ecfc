//! `inspect sitemap`: prints the URLs that a sitemap lists.

use std::io::{self, Write as _};

use clap::Args;
use everytab_webpage::{Sitemap, SitemapFormat, links::LinksLeftOut, read_sitemap};
use serde::Serialize;

use super::{
    input::{AddressKind, Input, InputArgs, Unread},
    lines::Lines,
};
use crate::cli_error::CliResult;

#[derive(Debug, Args)]
pub(super) struct SitemapArgs {
    #[command(flatten)]
    input: InputArgs,
}

#[derive(Debug, Serialize)]
struct ListedLine<'a> {
    /// `page`, `alternate` or `sitemap`.
    kind: &'static str,
    url: &'a str,
    error: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct SitemapLine {
    file: String,
    format: Option<SitemapFormat>,
    pages: Option<usize>,
    alternates: Option<usize>,
    sitemaps: Option<usize>,
    left_out: Option<LinksLeftOut>,
    cut: Option<bool>,
    error: Option<String>,
}

/// Prints the URLs in each input.
///
/// # Errors
/// Returns an error if stdout cannot be written, or if an option is invalid.
pub(super) async fn run(args: SitemapArgs) -> CliResult {
    let input = args.input;
    let is_json = input.json;
    let same = |address: &str| Ok(address.to_owned());
    let print = |loaded: Result<Input, Unread>, lines: &mut Lines| match loaded {
        Ok(input) => show(&input, is_json, lines),
        Err(Unread { name, error }) if is_json => {
            let error = Some(error);
            lines.fail(&SitemapLine { file: name, error, ..SitemapLine::default() })
        }
        Err(Unread { name, error }) => {
            lines.complain(&name, &error);
            Ok(())
        }
    };
    input.each(AddressKind::Sitemap, same, print).await
}

fn show(input: &Input, is_json: bool, lines: &mut Lines) -> io::Result<()> {
    let file = input.url.as_ref().unwrap_or(&input.name);
    let sitemap = read_sitemap(&input.body);
    let Sitemap { format, pages, alternates, sitemaps, left_out, is_cut } = &sitemap;
    for (kind, urls) in [("page", pages), ("alternate", alternates), ("sitemap", sitemaps)] {
        for url in urls {
            if is_json {
                lines.print(&ListedLine { kind, url, error: None })?
            } else {
                writeln!(lines.out, "{kind}\t{url}")?
            }
        }
    }
    if is_json {
        return lines.print(&SitemapLine {
            file: file.clone(),
            format: Some(*format),
            pages: Some(pages.len()),
            alternates: Some(alternates.len()),
            sitemaps: Some(sitemaps.len()),
            left_out: Some(*left_out),
            cut: Some(*is_cut),
            error: None,
        });
    }
    lines.out.flush()?;
    eprintln!("{file}: {}", counts(&sitemap));
    Ok(())
}

fn counts(sitemap: &Sitemap) -> String {
    let Sitemap { format, pages, alternates, sitemaps, left_out, is_cut } = sitemap;
    if *format == SitemapFormat::Other {
        return "not a sitemap".to_owned();
    }
    let (pages, alternates, sitemaps) = (pages.len(), alternates.len(), sitemaps.len());
    let mut text =
        format!("{}, {pages} pages, {alternates} alternates, {sitemaps} sitemaps", format.as_str());
    let LinksLeftOut { over_limit, too_long, other_scheme, unparsable, empty } = *left_out;
    let reasons = [
        (over_limit, "over the limit"),
        (too_long, "too long"),
        (other_scheme, "with another scheme"),
        (unparsable, "unparsable"),
        (empty, "empty"),
    ];
    let reasons = reasons.iter().filter(|(count, _)| *count > 0);
    let reasons: Vec<String> = reasons.map(|(count, reason)| format!("{count} {reason}")).collect();
    if !reasons.is_empty() {
        text.push_str("; skipped: ");
        text.push_str(&reasons.join(", "));
    }
    if *is_cut {
        text.push_str("; the file is truncated or malformed");
    }
    text
}
