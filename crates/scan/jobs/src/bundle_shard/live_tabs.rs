//! Compares a shard's new bundles with those that the site shows. A shard's objects have fixed
//! names, so if the site shows this scan, writing them changes the site before `publish` compares
//! anything.

use everytab_bundler::{
    Loss, Manifest, PublishedBundle, ReplaceRefusal,
    object_names::{self, MANIFEST},
};
use everytab_job_result::JobError;
use everytab_storage::Store;

use crate::{job::ScanAssignment, publish::malformed_manifest};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShardCounts {
    pub(super) tabs: u64,
    pub(super) with_icon: u64,
}

/// If the site shows this scan, checks that the shard does not lose too many of its tabs. The
/// caller adds excluded tabs to `left`, so they do not count as lost.
pub(super) async fn check_loss(
    site: &dyn Store,
    job: &ScanAssignment,
    left: ShardCounts,
) -> Result<(), JobError> {
    let scan = job.info.scan_id;
    let Some(tagged) = site.get_tagged(MANIFEST).await? else { return Ok(()) };
    let bundles = job.info.bundles_per_shard.unwrap_or(1);
    let first = job.part.saturating_mul(bundles);
    let manifest = match Manifest::read(&tagged.bytes) {
        Ok(manifest) if manifest.scan == scan => manifest,
        Ok(_) => return Ok(()),
        Err(error) => {
            // The site cannot show a shard that was never bundled.
            if site.head(&object_names::bundle(scan, first)).await?.is_none() {
                return Ok(());
            }
            return Err(JobError::Discard(format!(
                "{} and `scan retry --kind bundle-shard`; until then, the bundles of shard {} \
                 are not replaced, because the site may show them",
                malformed_manifest(site.url(), &error),
                job.part
            )));
        }
    };
    let mut shown = ShardCounts::default();
    for number in first..first.saturating_add(bundles) {
        let found = site.get_tagged(&manifest.bundle_name(number)).await?;
        let Some(bundle) = found.and_then(|found| PublishedBundle::read(&found.bytes).ok()) else {
            continue;
        };
        for (_, _, has_icon) in bundle.tabs() {
            shown.tabs += 1;
            shown.with_icon += u64::from(has_icon);
        }
    }
    let of = |counts: ShardCounts| Manifest {
        hosts: counts.tabs,
        with_icon: counts.with_icon,
        ..manifest.clone()
    };
    let max_loss = job.settings.max_loss;
    let Err(ReplaceRefusal::WouldLose(losses)) = of(left).may_replace(&of(shown), max_loss) else {
        return Ok(());
    };
    let losses: Vec<String> = losses.iter().map(Loss::to_string).collect();
    Err(JobError::Discard(format!(
        "{} shows this scan, and shard {} would have {}, a loss of more than {max_loss} %, so its \
         bundles were not replaced; fix the cause and repeat the `scan retry`. To accept the loss, \
         publish another scan or remove manifest.json, then `scan retry --kind bundle-shard` and \
         `publish --scan {scan} --force`",
        site.url(),
        job.part,
        losses.join(", ")
    )))
}
