//! `inspect filter`: shows which part of a filter decides each URL.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use everytab_filters::{Filter, FilterSet, TestedUrl};
use everytab_frontier::ParameterList;
use serde_json::json;

use super::lines::Lines;
use crate::commands::filter::read;

#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// File with the filter as JSON; the imported lists in the filter are not checked
    file: PathBuf,
    /// Absolute URLs
    #[arg(required = true)]
    urls: Vec<String>,
    /// Treat the URLs as seeds, which are exempt from the filter's keep-only rules
    #[arg(long, env = "EVERYTAB_FILTER_SEEDS")]
    seeds: bool,
    /// Print one JSON object per line
    #[arg(long, env = "EVERYTAB_JSON")]
    json: bool,
}

pub(super) fn print(args: &FilterArgs, lines: &mut Lines) -> io::Result<()> {
    let name = args.file.display().to_string();
    let compiled = read(&args.file).map_err(|error| error.message).and_then(|settings| {
        let filter = Filter::compile(&settings, |_| None);
        filter.and_then(|filter| FilterSet::new(vec![filter])).map_err(|e| e.to_string())
    });
    let filters = match compiled {
        Ok(filters) => filters,
        Err(error) => {
            lines.complain(&name, &error);
            return Ok(());
        }
    };
    if !filters.is_complete() {
        eprintln!("{name}: the imported lists in this filter are not checked");
    }
    let urls: Vec<&str> = args.urls.iter().map(String::as_str).collect();
    let tested = filters.test(&urls, args.seeds, &ParameterList::default());
    for (url, TestedUrl { key, decision, error }) in urls.into_iter().zip(tested) {
        let verdict = decision.map_or("keep", |found| found.verdict.as_str());
        let by = decision.map_or_else(|| "-".to_owned(), |found| found.by.to_string());
        let line = json!({ "url": url, "key": key, "verdict": verdict, "by": by, "error": error });
        match error {
            Some(_) if args.json => lines.fail(&line)?,
            Some(error) => lines.complain(&format!("{url:?}"), &error),
            None if args.json => lines.print(&line)?,
            None => writeln!(lines.out, "{verdict}\t{by}\t{url}")?,
        }
    }
    Ok(())
}
