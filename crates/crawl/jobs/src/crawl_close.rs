//! `crawl-close`: writes a live crawl's archive lists, index file list and document, and adds the
//! crawl to the bucket's crawl list.
//!
//! A list contains an archive if fetches name it and one of the crawl's stores has it. All
//! robots.txt archives are listed, because fetches do not name them.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::ready,
};

use everytab_bundler::stats_names::{CountFamily, CountName, InputName, OutcomeName};
use everytab_commoncrawl::{
    collinfo::{ListedCrawl, add_to_collinfo as with_crawl},
    crawl_layout::ArchiveSubset,
    crawl_objects::COLLINFO,
    ended_crawl::{EndedCrawl, EndedCrawlCounts},
    path_list::path_list,
};
use everytab_coordinator::{Coordinator, JobKind, OutcomeCount, Output};
use everytab_job_result::{JobError, PerformedJob, Stats};
use everytab_storage::{ObjectChange, Store, Tagged};

use crate::{
    context::Context,
    crawl_index::subset_of,
    crawl_run::{CrawlAssignment, put_options},
};

const GZIP: &str = "application/gzip";
const JSON: &str = "application/json";

pub(crate) struct CrawlCloseInput {
    archives: BTreeSet<String>,
    counts: Vec<OutcomeCount>,
}

pub(crate) async fn load(
    coordinator: &Coordinator,
    job: &CrawlAssignment,
) -> Result<CrawlCloseInput, JobError> {
    let named = coordinator.crawl_archives(job.crawl.crawl).await?.into_iter();
    // A revisit may name an earlier crawl's archive, which is in that crawl's own lists.
    let own = job.name.segments();
    let archives = named.filter(|object| object.starts_with(&own)).collect();
    Ok(CrawlCloseInput { archives, counts: coordinator.run_outcomes(job.run).await? })
}

pub(crate) async fn perform(
    context: &Context,
    job: &CrawlAssignment,
    input: CrawlCloseInput,
) -> Result<PerformedJob, JobError> {
    let mut stats = Stats::default();
    let main = job.main_store(context).await?;
    let kept = kept_archives(context, job, &input.archives).await?;
    let missing = input.archives.iter().filter(|object| !kept.contains_key(*object)).count();
    if missing > 0 {
        let crawl = &job.crawl.name;
        let of = input.archives.len();
        tracing::warn!(%crawl, missing, of, "the stores lack archives of recorded fetches");
    }
    stats.input(InputName::Archives, (kept.len() + missing) as u64);
    stats.outcome(OutcomeName::InList.as_str(), kept.len() as u64);
    stats.outcome(OutcomeName::ArchiveMissing.as_str(), missing as u64);
    for subset in ArchiveSubset::ALL {
        let of_subset = kept.keys().filter(|object| subset_of(object) == Some(subset));
        let list = list_of(of_subset.map(String::as_str))?;
        main.put(&job.name.archive_list(subset), list.into(), put_options(GZIP)).await?;
        job.heartbeat.beat();
    }
    // If the crawl was restored from a backup, the store may have files for more parts than the
    // crawl has now.
    let parts = job.crawl.parts.unsigned_abs();
    let known: BTreeSet<String> = ArchiveSubset::ALL
        .into_iter()
        .flat_map(|subset| (0..parts).map(move |part| (subset, part)))
        .map(|(subset, part)| job.name.table_part(subset, part))
        .collect();
    let found = main.list_all(&job.name.tables()).await?.into_iter().map(|object| object.key);
    let tables: Vec<String> = found.filter(|key| known.contains(key)).collect();
    stats.count(CountName::IndexFiles, tables.len() as u64);
    let list = list_of(tables.iter().map(String::as_str))?;
    let document = document(job, &input.counts, &kept);
    main.put(&job.name.document(), document.to_json().into(), put_options(JSON)).await?;
    // Write this list last among the crawl's own objects, because scans start with it.
    main.put(&job.name.table_list(), list.into(), put_options(GZIP)).await?;
    add_to_collinfo(&*main, job).await?;
    Ok(PerformedJob { output: Output::Nothing, stats })
}

async fn kept_archives(
    context: &Context,
    job: &CrawlAssignment,
    named: &BTreeSet<String>,
) -> Result<BTreeMap<String, u64>, JobError> {
    let mut kept = BTreeMap::new();
    for store in job.stores(context).await? {
        for object in store.list_all(&job.name.segments()).await? {
            let is_robots = subset_of(&object.key) == Some(ArchiveSubset::RobotsTxt);
            if is_robots || named.contains(&object.key) {
                kept.insert(object.key, object.size);
            }
        }
        job.heartbeat.beat();
    }
    Ok(kept)
}

fn list_of<'a>(paths: impl Iterator<Item = &'a str>) -> Result<Vec<u8>, JobError> {
    path_list(paths).map_err(|error| JobError::Discard(error.to_string()))
}

fn document(
    job: &CrawlAssignment,
    counts: &[OutcomeCount],
    kept: &BTreeMap<String, u64>,
) -> EndedCrawl {
    let of_jobs = || counts.iter().filter(|count| count.kind == JobKind::CrawlIndex.as_str());
    let by_subset: BTreeMap<ArchiveSubset, u64> = of_jobs()
        .filter_map(|count| {
            let subset = CountFamily::Subset.member(&count.name)?;
            Some((ArchiveSubset::parse(subset)?, count.amount.unsigned_abs()))
        })
        .collect();
    let amount = |name: CountName| {
        let count = of_jobs().find(|count| count.name == name.as_str());
        count.map_or(0, |count| count.amount.unsigned_abs())
    };
    let crawl = &job.crawl;
    let finished = crawl.finished_at.unwrap_or(crawl.started_at);
    // The document omits the sites, because there may be millions.
    let mut settings = crawl.settings.clone();
    if let Some(settings) = settings.as_object_mut() {
        settings.remove("list_sites");
    }
    EndedCrawl {
        name: crawl.name.clone(),
        id: crawl.id.to_string(),
        started_micros: crawl.started_at.timestamp_micros(),
        finished_micros: finished.timestamp_micros(),
        ended_by: crawl.ended_by.clone().unwrap_or_default(),
        settings,
        counts: EndedCrawlCounts {
            captures: by_subset.values().sum(),
            by_subset,
            archives: kept.len() as u64,
            bytes: kept.values().sum(),
            home_redirects: amount(CountName::HomeRedirects),
            revisits: amount(CountName::Revisits),
        },
    }
}

async fn add_to_collinfo(store: &dyn Store, job: &CrawlAssignment) -> Result<(), JobError> {
    let crawl = &job.crawl;
    let finished = crawl.finished_at.unwrap_or(crawl.started_at);
    let listed = ListedCrawl {
        id: &job.name,
        name: &crawl.name,
        service: "",
        from_micros: crawl.started_at.timestamp_micros(),
        to_micros: finished.timestamp_micros(),
    };
    let change = |before: Option<Tagged>| {
        let list = with_crawl(before.as_ref().map(|tagged| &tagged.bytes[..]), &listed);
        ready(match list {
            Ok(list) => Ok(ObjectChange::Write(list.into(), ())),
            Err(error) => Err(JobError::Discard(error.to_string())),
        })
    };
    store.update(COLLINFO, put_options(JSON), change).await
}
