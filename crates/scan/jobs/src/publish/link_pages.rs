//! Writes the link pages, `t/<bundle>.html`, from the scan's search files and the manifest.
//!
//! The pages are not below the scan's prefix, because links must outlive the scan. They are written
//! before the manifest, so that the pages of a published scan are complete. Until then the old
//! site's visitors may get new pages, which lead to the right site, because a fragment names it.
//!
//! Memory: six names of each bundle, about 100 MB for 300,000 bundles.

use everytab_bundler::{
    Manifest,
    link_page::{BestKnown, LinkPage, LinkPicture},
    object_names::{LINKS_PREFIX, MANIFEST, link_page, link_page_number},
    page_files::{SiteOperator, link_script, page_files},
};
use everytab_fetcher::Heartbeat;
use everytab_job_result::JobError;
use everytab_storage::Store;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{removal::ScanObjects, site_objects::put_changed};

/// Link pages that are compared and written concurrently. A page has 2 KB, so that more of them
/// than of other objects are in flight: 250,000 take some minutes.
const CONCURRENT_PAGES: usize = 64;
/// Link pages that are in memory at the same time.
const PAGES_IN_MEMORY: usize = 4_096;

/// Writes the link pages of the published scan, if there is one, for a site that lacks them.
/// Backups contain no link pages, because these follow from other objects.
///
/// # Errors
/// Returns an error if the store fails, or the manifest is malformed.
pub async fn publish_link_pages(site: &dyn Store, site_url: Option<&str>) -> Result<(), JobError> {
    let Some(found) = site.get_tagged(MANIFEST).await? else { return Ok(()) };
    let manifest = Manifest::read(&found.bytes)
        .map_err(|error| JobError::Discard(format!("{}: {error}", site.url())))?;
    let site_url = site_url.map(str::to_owned);
    let operator = SiteOperator { site_url, ..SiteOperator::default() };
    let files = page_files(&operator);
    let script = link_script(&files);
    // Another version of the program may have published the site.
    for file in files.iter().filter(|file| file.key == script) {
        put_changed(site, &file.key, file.bytes.clone().into()).await?;
    }
    publish(site, &manifest, &operator, script, &Heartbeat::default()).await
}

/// Writes the page of each bundle that `manifest` has. A page with the number of a bundle that
/// earlier scans had and this one lacks loses its names, and still leads to the site in its
/// fragment. `script` is the published name of `link.js`.
pub(super) async fn publish(
    site: &dyn Store,
    manifest: &Manifest,
    operator: &SiteOperator,
    script: &str,
    heartbeat: &Heartbeat,
) -> Result<(), JobError> {
    let objects = ScanObjects::new(site, &manifest.prefix, heartbeat);
    let bundles = i32::try_from(manifest.bundles).unwrap_or(i32::MAX);
    let (best, is_complete) = objects.best_known(bundles.unsigned_abs() as usize).await?;
    let page = |bundle: i32, best: &BestKnown, first: u64| LinkPage {
        bundle,
        tabs: best.tabs(),
        // Without some search files, all later numbers would be wrong.
        first: is_complete.then_some(first),
        names: best.names(),
        prefix: manifest.prefix.clone(),
        site_url: operator.site_url.clone(),
        script: script.to_owned(),
        picture: manifest
            .map
            .as_ref()
            .and_then(|map| LinkPicture::of_bundle(map, &manifest.prefix, bundle)),
    };
    let numbered: Vec<((i32, &BestKnown), u64)> =
        (0..).zip(&best).zip(tabs_before(&best)).collect();
    for some in numbered.chunks(PAGES_IN_MEMORY) {
        let pages = some.iter().map(|((bundle, best), first)| page(*bundle, best, *first));
        put_pages(site, pages.collect(), heartbeat).await?;
    }
    let nameless = |bundle| LinkPage { bundle, script: script.to_owned(), ..LinkPage::default() };
    let beyond = beyond(site, bundles).await?;
    for some in beyond.chunks(PAGES_IN_MEMORY) {
        put_pages(site, some.iter().copied().map(nameless).collect(), heartbeat).await?;
    }
    objects.correct_noted_link_pages().await?;
    tracing::info!(pages = numbered.len(), nameless = beyond.len(), "link pages are written");
    Ok(())
}

/// Returns for each bundle the number of tabs in the bundles before it.
fn tabs_before(best: &[BestKnown]) -> impl Iterator<Item = u64> {
    let counts = best.iter().map(|best| u64::from(best.tabs()));
    counts.scan(0, |sum, tabs| Some(std::mem::replace(sum, *sum + tabs)))
}

async fn put_pages(
    site: &dyn Store,
    pages: Vec<LinkPage>,
    heartbeat: &Heartbeat,
) -> Result<(), JobError> {
    let put = |page: LinkPage| async move {
        put_changed(site, &link_page(page.bundle), page.write().into()).await
    };
    let puts: Vec<_> = pages.into_iter().map(put).collect();
    stream::iter(puts)
        .buffer_unordered(CONCURRENT_PAGES)
        .inspect_ok(|()| heartbeat.beat())
        .try_collect::<Vec<()>>()
        .await?;
    Ok(())
}

/// Returns the numbers of the site's link pages from `bundles` on.
async fn beyond(site: &dyn Store, bundles: i32) -> Result<Vec<i32>, JobError> {
    let mut found = Vec::new();
    let mut listed = site.list(LINKS_PREFIX);
    while let Some(object) = listed.next().await {
        found.extend(link_page_number(&object?.key).filter(|number| *number >= bundles));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundles_number_counts_the_tabs_before_it() {
        let bundles = [2, 0, 3].map(|tabs| {
            let mut best = BestKnown::default();
            (0..tabs).for_each(|tab| best.add(&format!("{tab}.example"), None));
            best
        });
        assert_eq!(tabs_before(&bundles).collect::<Vec<u64>>(), [0, 2, 2]);
    }
}
