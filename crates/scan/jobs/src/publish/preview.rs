//! Draws a site's preview picture for shared links from its first bundles.

use bytes::Bytes;
use everytab_bundler::{
    Manifest, PublishedBundle, object_names,
    preview::{HEIGHT, MAX_BUNDLES, PreviewIcon, PreviewTab, TABS, WIDTH, draw, icons_of},
};
use everytab_fetcher::Heartbeat;
use everytab_icon::{Pixels, decode::decode, png::encode};
use everytab_job_result::JobError;
use everytab_storage::Store;

pub(crate) async fn of_site(
    site: &dyn Store,
    manifest: &Manifest,
    heartbeat: &Heartbeat,
) -> Result<Option<Bytes>, JobError> {
    let mut icons = Vec::with_capacity(TABS);
    for number in 0..manifest.bundles.min(MAX_BUNDLES) {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let key = object_names::bundle(manifest.scan, number);
        let bundle = PublishedBundle::read(&site.get(&key).await?)
            .map_err(|error| JobError::Discard(format!("{key} is not a bundle: {error}")))?;
        heartbeat.beat();
        icons.extend(icons_of(&bundle));
        if icons.len() >= TABS {
            break;
        }
    }
    icons.truncate(TABS);
    let all_tabs = manifest.hosts;
    let picture = tokio::task::spawn_blocking(move || picture(&icons, all_tabs)).await;
    // A missing picture must not fail a scan.
    Ok(picture.ok().flatten().map(Bytes::from))
}

fn picture(icons: &[(Vec<u8>, usize)], all_tabs: u64) -> Option<Vec<u8>> {
    let tab = |(png, title_chars): &(Vec<u8>, usize)| PreviewTab {
        icon: decode(png).ok().map(|(_, pixels)| PreviewIcon {
            width: pixels.width(),
            height: pixels.height(),
            rgba: pixels.rgba().to_vec(),
        }),
        title_chars: *title_chars,
    };
    let drawn = draw(&icons.iter().map(tab).collect::<Vec<_>>(), all_tabs)?;
    Some(encode(&Pixels::new(WIDTH, HEIGHT, drawn)?))
}
