//! A request's URLs: which are accepted, and why the others are rejected.

use everytab_crawl_settings::{Seed, SeedError, SeedPorts, SeedReader, parse_seed};
use everytab_crawl_start::SeedBatch;

use crate::{
    problem::{Problem, ProblemCode, ProblemItem},
    service::Service,
};

/// Maximum URLs per request, which are added in one transaction.
pub(crate) const MAX_URLS: usize = 10_000;

pub(crate) fn code_of(reason: SeedError) -> ProblemCode {
    match reason {
        SeedError::Port(_) | SeedError::BadPort(_) => ProblemCode::PortNotAllowed,
        _ => ProblemCode::InvalidUrl,
    }
}

#[derive(Debug, Default)]
pub(crate) struct SubmittedUrls {
    /// Accepted URLs, each with its line or position from 1.
    pub(crate) accepted: Vec<(u64, Seed)>,
    pub(crate) refused: Vec<ProblemItem>,
}

impl SubmittedUrls {
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
            let detail = format!("the request has more than {MAX_URLS} URLs; send several");
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

    /// Returns a problem with all errors if no URL was accepted.
    pub(crate) fn some(self) -> Result<Self, Problem> {
        if self.accepted.is_empty() {
            let detail = "the request has no URLs, or all were refused";
            let problem = Problem::with(ProblemCode::NothingToCrawl, detail);
            return Err(problem.listing(self.refused));
        }
        Ok(self)
    }

    pub(crate) fn batch<'a>(&self, service: &'a Service, priority: u8) -> SeedBatch<'a> {
        let mut batch = SeedBatch::new(&service.suffixes, false);
        for (_, seed) in &self.accepted {
            batch.push_with_priority(seed.clone(), priority);
        }
        batch
    }
}
