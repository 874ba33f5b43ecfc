//! Edits the map's landmarks during a removal. A removal notes the host (`word_notes`) and then
//! edits; publishing writes the landmarks and then reads the notes. Therefore at least one of them
//! removes the host.

use std::future::ready;

use everytab_bundler::{
    map::landmarks::{Landmark, edited},
    object_names::MAP_LANDMARKS_PATH,
};
use everytab_storage::{ObjectChange, StorageError, Tagged};

use super::search_files::{Changes, ScanObjects};
use crate::site_objects::put_options;

impl ScanObjects<'_> {
    pub(super) async fn edit_landmarks(&self, changes: Changes<'_>) -> Result<(), StorageError> {
        self.update_landmarks(|landmark| changes.apply(&mut landmark.entry)).await
    }

    pub(crate) async fn remove_noted_landmarks(&self) -> Result<(), StorageError> {
        let notes = self.noted_for_words().await?;
        self.update_landmarks(|landmark| !notes.hold(&landmark.entry.hostname)).await
    }

    async fn update_landmarks(
        &self,
        keep: impl Fn(&mut Landmark) -> bool + Send + Sync,
    ) -> Result<(), StorageError> {
        let key = format!("{}{MAP_LANDMARKS_PATH}", self.prefix);
        let change = |before: Option<Tagged>| {
            let after = before.as_ref().map(|before| edited(&before.bytes, &keep));
            let is_changed = before.map(|before| before.bytes) != after.clone().map(Into::into);
            ready(Ok(match after {
                Some(text) if is_changed => ObjectChange::Write(text.into(), ()),
                _ => ObjectChange::Keep(()),
            }))
        };
        self.heartbeat.beat();
        self.site.update(&key, put_options(&key), change).await
    }
}
