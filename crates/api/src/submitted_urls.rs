//! Several URLs of one request: which are accepted, and why the others are not.
//!
//! Invariant: each URL or line that is no comment is in one of the two lists, with its number.
//! Must not know: what becomes of URLs; which addresses may be asked (whoever fetches judges them).

use everytab_crawler::{Seed, SeedBatch, SeedError, SeedPorts, SeedReader, parse_seed};

use crate::{
    problem::{Problem, ProblemCode, ProblemItem},
    service::Service,
};

/// URLs of a request: as rows of links they are a megabyte, in one transaction.
pub(crate) const MAX_URLS: usize = 10_000;

/// The code by which a URL is refused.
pub(crate) fn code_of(reason: SeedError) -> ProblemCode {
    match reason {
        SeedError::Port(_) | SeedError::BadPort(_) => ProblemCode::PortNotAllowed,
        _ => ProblemCode::InvalidUrl,
    }
}

/// The URLs of a request.
#[derive(Debug, Default)]
pub(crate) struct SubmittedUrls {
    /// Those that are URLs of a crawl, with their numbers from 1.
    pub(crate) accepted: Vec<(u64, Seed)>,
    /// Why the others are none.
    pub(crate) refused: Vec<ProblemItem>,
}

impl SubmittedUrls {
    /// Reads a list.
    ///
    /// # Errors
    /// When there are too many.
    pub(crate) fn of_list(
        service: &Service,
        ports: &mut SeedPorts,
        urls: &[String],
    ) -> Result<Self, Problem> {
        let mut found = Self::default();
        for (number, text) in (1..).zip(urls) {
            found.add(number, ports, parse_seed(text, &service.parameters))?;
        }
        Ok(found)
    }

    /// Reads lines.
    ///
    /// # Errors
    /// When there are too many.
    pub(crate) fn of_lines(
        service: &Service,
        ports: &mut SeedPorts,
        bytes: &[u8],
    ) -> Result<Self, Problem> {
        let mut found = Self::default();
        for line in SeedReader::new(bytes, &service.parameters) {
            let line = line.map_err(|error| Problem::with(ProblemCode::Internal, error))?;
            found.add(line.number, ports, line.seed)?;
        }
        Ok(found)
    }

    fn add(
        &mut self,
        number: u64,
        ports: &mut SeedPorts,
        seed: Result<Seed, SeedError>,
    ) -> Result<(), Problem> {
        if self.accepted.len() + self.refused.len() >= MAX_URLS {
            let detail = format!("a request has at most {MAX_URLS} URLs; send several");
            return Err(Problem::with(ProblemCode::TooManyUrls, detail));
        }
        match seed.and_then(|seed| ports.check(&seed).map(|()| seed)) {
            Ok(seed) => self.accepted.push((number, seed)),
            Err(reason) => self.refused.push(ProblemItem {
                line: Some(number),
                field: None,
                code: code_of(reason),
                detail: reason.to_string(),
            }),
        }
        Ok(())
    }

    /// Whether there is something to crawl.
    ///
    /// # Errors
    /// When there is nothing, with all reasons.
    pub(crate) fn some(self) -> Result<Self, Problem> {
        if self.accepted.is_empty() {
            let detail = "the request has no URL, or none is usable";
            let problem = Problem::with(ProblemCode::NothingToCrawl, detail);
            return Err(problem.listing(self.refused));
        }
        Ok(self)
    }

    /// The accepted ones as links that are not urgent.
    pub(crate) fn batch<'a>(&self, service: &'a Service, priority: u8) -> SeedBatch<'a> {
        let mut batch = SeedBatch::new(&service.suffixes, false);
        for (_, seed) in &self.accepted {
            batch.push_with_priority(seed.clone(), priority);
        }
        batch
    }
}
