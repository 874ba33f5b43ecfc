//! Reads seeds from arguments, a file, standard input or an earlier crawl. Rejected seeds are
//! reported on standard error and skipped.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Seek as _, Write as _},
    path::PathBuf,
};

use clap::Args;
use everytab_coordinator::Coordinator;
use everytab_crawl_settings::{
    MAX_LIST_SITES, Seed, SeedError, SeedPorts, SeedReader, SeedSites, parse_seed,
};
use everytab_crawl_start::SeedBatch;
use everytab_frontier::{ParameterList, SuffixList};

use crate::cli_error::CliError;

#[derive(Debug, Args)]
pub(super) struct SeedArgs {
    /// URLs, or hostnames such as example.com. A hostname is fetched with https://, or with http://
    /// if https fails to connect
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// File with one URL or hostname per line; - reads standard input. Empty lines and lines that
    /// start with # are skipped
    #[arg(long, env = "EVERYTAB_CRAWL_SEEDS", value_name = "FILE")]
    seeds: Option<PathBuf>,
}

impl SeedArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.seeds.is_none()
    }
}

/// Maximum number of URLs per database call.
const SEEDS_PER_CALL: i32 = 10_000;

pub(super) struct Seeds<'a> {
    parameters: &'a ParameterList,
    urls: VecDeque<String>,
    lines: Option<SeedReader<'a, Box<dyn BufRead>>>,
    name: String,
    /// The ports that seeds may use.
    pub(super) ports: SeedPorts,
    pub(super) refused: u64,
}

impl<'a> Seeds<'a> {
    /// Opens the given file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, or if there is neither a file nor a URL.
    pub(super) fn open(args: SeedArgs, parameters: &'a ParameterList) -> Result<Self, CliError> {
        if args.is_empty() {
            return Err(CliError::usage("no seeds: give URLs, or --seeds FILE (- reads a pipe)"));
        }
        let SeedArgs { urls, seeds } = args;
        let mut name = String::new();
        let mut lines = None;
        if let Some(path) = seeds {
            name = path.display().to_string();
            let input: Box<dyn BufRead> = if name == "-" {
                Box::new(std::io::stdin().lock())
            } else {
                let file = File::open(&path)
                    .map_err(|error| CliError::new(format!("--seeds {name}: {error}")))?;
                Box::new(BufReader::new(file))
            };
            lines = Some(SeedReader::new(input, parameters));
        }
        let ports = SeedPorts::of_operator();
        Ok(Self { parameters, urls: urls.into(), lines, name, ports, refused: 0 })
    }

    /// Writes the seeds that an earlier crawl fetched to a temporary file, and reads them from
    /// there.
    ///
    /// # Errors
    /// Returns an error if Postgres is unreachable, or if the file cannot be written.
    pub(super) async fn of_crawl(
        coordinator: &Coordinator,
        crawl: i32,
        parameters: &'a ParameterList,
    ) -> Result<Self, CliError> {
        let mut file = BufWriter::new(tempfile::tempfile().map_err(not_written)?);
        let mut after = None;
        loop {
            let seeds = coordinator.crawl_seeds(crawl, after, SEEDS_PER_CALL).await?;
            let Some(last) = seeds.last() else { break };
            after = Some(last.place);
            for seed in &seeds {
                writeln!(file, "{}", seed.url).map_err(not_written)?;
            }
        }
        Self::of_lines(file, parameters)
    }

    /// Like [`Self::of_crawl`], for the URLs that failed. `None` if there are none.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::of_crawl`].
    pub(super) async fn of_failed(
        coordinator: &Coordinator,
        crawl: i32,
        parameters: &'a ParameterList,
    ) -> Result<Option<Self>, CliError> {
        let mut file = BufWriter::new(tempfile::tempfile().map_err(not_written)?);
        let (mut after, mut has_some): (Option<String>, bool) = (None, false);
        loop {
            let found = coordinator.failed_urls(crawl, after.as_deref(), SEEDS_PER_CALL).await?;
            let Some(last) = found.last() else { break };
            after = Some(last.position.clone());
            for url in found.iter().filter_map(|failed| failed.url.as_ref()) {
                has_some = true;
                writeln!(file, "{url}").map_err(not_written)?;
            }
        }
        if has_some { Self::of_lines(file, parameters).map(Some) } else { Ok(None) }
    }

    fn of_lines(file: BufWriter<File>, parameters: &'a ParameterList) -> Result<Self, CliError> {
        let lines = Some(SeedReader::new(read_again(file)?, parameters));
        let name = "the earlier crawl".to_owned();
        let ports = SeedPorts::of_operator();
        Ok(Self { parameters, urls: VecDeque::new(), lines, name, ports, refused: 0 })
    }

    /// Returns the next valid seed. `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<Seed>, CliError> {
        while let Some(text) = self.urls.pop_front() {
            let seed = parse_seed(&text, self.parameters);
            match self.with_port(seed) {
                Ok(seed) => return Ok(Some(seed)),
                Err(reason) => {
                    let shown: String = text.chars().take(100).collect();
                    self.refused += 1;
                    eprintln!("refused: {shown:?}: {reason}");
                }
            }
        }
        while let Some(line) = self.lines.as_mut().and_then(Iterator::next) {
            let line =
                line.map_err(|error| CliError::new(format!("--seeds {}: {error}", self.name)))?;
            match self.with_port(line.seed) {
                Ok(seed) => return Ok(Some(seed)),
                Err(reason) => {
                    let number = line.number;
                    let shown = line.shown;
                    self.refused += 1;
                    eprintln!("refused: {}:{number}: {shown:?}: {reason}", self.name);
                }
            }
        }
        Ok(None)
    }

    fn with_port(&mut self, seed: Result<Seed, SeedError>) -> Result<Seed, SeedError> {
        seed.and_then(|seed| self.ports.check(&seed).map(|()| seed))
    }

    /// Fills a batch. Returns false if there are no more seeds.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub(super) fn fill(&mut self, batch: &mut SeedBatch<'_>) -> Result<bool, CliError> {
        while !batch.is_full() {
            match self.next()? {
                Some(seed) => batch.push(seed),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns the site hashes of all remaining seeds, because a crawl's settings must contain them
    /// before it starts. Afterwards, the seeds are read from a temporary file.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written, or if there are too many sites.
    pub(super) fn sites(&mut self, suffixes: &SuffixList) -> Result<Vec<u64>, CliError> {
        let mut sites = SeedSites::new(suffixes);
        let mut file = BufWriter::new(tempfile::tempfile().map_err(not_written)?);
        while let Some(seed) = self.next()? {
            if !sites.insert(&seed) {
                return Err(CliError::usage(format!(
                    "--scope list: the seeds have more than {MAX_LIST_SITES} sites; --scope site \
                     needs no list"
                )));
            }
            writeln!(file, "{}", seed.text()).map_err(not_written)?;
        }
        self.lines = Some(SeedReader::new(read_again(file)?, self.parameters));
        Ok(sites.into_hashes())
    }
}

fn not_written(error: io::Error) -> CliError {
    CliError::new(format!("cannot use a temporary file for the seeds: {error}"))
}

fn read_again(file: BufWriter<File>) -> Result<Box<dyn BufRead>, CliError> {
    let mut file = file.into_inner().map_err(|error| not_written(error.into_error()))?;
    file.rewind().map_err(not_written)?;
    Ok(Box::new(BufReader::new(file)))
}
