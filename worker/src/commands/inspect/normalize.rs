//! `inspect normalize`: shows URLs in the normalized form that a crawl stores.

use std::io::{self, Write as _};

use clap::Args;
use everytab_frontier::{CanonicalUrl, ParameterList, SuffixList, UrlError, slot_of_site};
use serde::Serialize;

use super::lines::Lines;

#[derive(Debug, Args)]
pub(super) struct NormalizeArgs {
    /// Absolute URLs
    #[arg(required = true)]
    urls: Vec<String>,
    /// Print one JSON object per line
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct KeyLine {
    input: String,
    key: Option<String>,
    fetched: Option<String>,
    host: Option<String>,
    site: Option<String>,
    slot: Option<u8>,
    hash: Option<String>,
    error: Option<String>,
}

pub(super) fn print(args: &NormalizeArgs, lines: &mut Lines) -> io::Result<()> {
    let parameters = ParameterList::default();
    let suffixes = SuffixList::default();
    for input in &args.urls {
        let line = line(input, &parameters, &suffixes);
        match &line.error {
            Some(_) if args.json => lines.fail(&line)?,
            Some(error) => lines.complain(&format!("{input:?}"), error),
            None if args.json => lines.print(&line)?,
            None => {
                let names = ["key", "host", "site", "hash"];
                let values = [&line.key, &line.host, &line.site, &line.hash];
                for (name, value) in names.iter().zip(values) {
                    writeln!(lines.out, "{name}\t{}", value.as_deref().unwrap_or_default())?;
                }
                writeln!(lines.out, "slot\t{}", line.slot.unwrap_or_default())?;
            }
        }
    }
    Ok(())
}

fn line(input: &str, parameters: &ParameterList, suffixes: &SuffixList) -> KeyLine {
    let url = match CanonicalUrl::parse(input, parameters) {
        Ok(url) => url,
        Err(error) => {
            let error = Some(format!("{error}; {}", advice(error)));
            return KeyLine { input: input.to_owned(), error, ..KeyLine::default() };
        }
    };
    let site = suffixes.site_of(url.host());
    KeyLine {
        input: input.to_owned(),
        key: Some(url.key().to_owned()),
        fetched: Some(url.fetched().to_owned()),
        host: Some(url.host().to_owned()),
        site: Some(site.to_owned()),
        slot: Some(slot_of_site(site)),
        hash: Some(format!("{:016x}", url.hash().0)),
        error: None,
    }
}

fn advice(error: UrlError) -> &'static str {
    match error {
        UrlError::TooLong => "use a shorter URL",
        UrlError::Unparsable | UrlError::Host => "give one like https://example.com/path",
        UrlError::Scheme => "only http:// and https:// are crawled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(input: &str) -> KeyLine {
        line(input, &ParameterList::default(), &SuffixList::default())
    }

    #[test]
    fn a_url_is_shown_with_its_key_host_site_slot_and_hash() {
        let found = of("HTTP://WWW.Example.co.uk:80/a/../b?z=1&utm_source=x&a=2#part");
        assert_eq!(found.key.as_deref(), Some("http://www.example.co.uk/b?a=2&z=1"));
        assert_eq!(found.host.as_deref(), Some("www.example.co.uk"));
        assert_eq!(found.site.as_deref(), Some("example.co.uk"));
        assert_eq!(found.slot, Some(slot_of_site("example.co.uk")));
        assert_eq!(found.hash.as_deref().map(str::len), Some(16));
        assert_eq!(found.error, None);
    }

    #[test]
    fn an_invalid_url_is_named_with_advice() {
        let long = format!("https://a.example/{}", "x".repeat(3_000));
        for (input, words) in [
            ("", "not an absolute URL"),
            ("example.com", "https://example.com/path"),
            ("mailto:a@b", "only http:// and https://"),
            ("http://a..b/", "usable host"),
            (&long, "shorter"),
        ] {
            let found = of(input);
            assert!(found.error.is_some_and(|error| error.contains(words)), "{input:.40}");
            assert_eq!((found.input.as_str(), found.key), (input, None));
        }
    }
}
