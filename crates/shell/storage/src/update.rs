//! Reads an object, changes it, and writes it only if no other writer has changed it since.

use std::future::Future;

use bytes::Bytes;

use crate::{
    backoff,
    error::{StorageError, StorageErrorKind},
    store::{Condition, PutIf, PutOptions, Store, Tagged},
};

/// Maximum attempts per update.
const MAX_UPDATE_TRIES: u32 = 8;

/// Result of the function that a caller passes to [`update`](trait.Store.html#method.update).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectChange<T> {
    /// Leaves the object unchanged and returns the value.
    Keep(T),
    /// Writes these bytes if the object has not changed since it was read, and returns the value.
    Write(Bytes, T),
}

impl dyn Store + '_ {
    /// Reads the object, passes it to `change`, and writes the result if the object has not changed
    /// since. Otherwise waits and starts again, up to eight times. `change` receives `None` if the
    /// object does not exist.
    ///
    /// A write to a remote store may succeed although its response is lost. Then `change` runs
    /// again on its own result.
    ///
    /// # Errors
    /// Returns an error if the store or `change` fails. If other writers win every time, the
    /// error's kind is [`StorageErrorKind::PreconditionFailed`].
    pub async fn update<T, E, C, F>(
        &self,
        key: &str,
        options: PutOptions,
        mut change: C,
    ) -> Result<T, E>
    where
        E: From<StorageError>,
        C: FnMut(Option<Tagged>) -> F,
        F: Future<Output = Result<ObjectChange<T>, E>>,
    {
        for earlier_tries in 0..MAX_UPDATE_TRIES {
            if earlier_tries > 0 {
                tokio::time::sleep(backoff::jittered(earlier_tries)).await;
            }
            let before = self.get_tagged(key).await?;
            let condition = match &before {
                Some(before) => Condition::Etag(before.etag.clone()),
                None => Condition::Absent,
            };
            let (bytes, value) = match change(before).await? {
                ObjectChange::Keep(value) => return Ok(value),
                ObjectChange::Write(bytes, value) => (bytes, value),
            };
            if let PutIf::Stored { .. } = self.put_if(key, bytes, condition, options).await? {
                return Ok(value);
            }
        }
        Err(StorageError::new(
            StorageErrorKind::PreconditionFailed,
            "update",
            format!("{}/{key}", self.url()),
            "other writers keep replacing it; run it again",
        )
        .into())
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;
    use crate::{open::open, settings::StoreSettings};

    fn appended(before: Option<Tagged>) -> Result<ObjectChange<usize>, StorageError> {
        let bytes = before.map(|tagged| tagged.bytes).unwrap_or_default();
        Ok(ObjectChange::Write([&bytes[..], b"x"].concat().into(), bytes.len()))
    }

    #[tokio::test]
    async fn an_update_creates_changes_or_keeps_an_object() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = open(folder.path().to_str().unwrap(), &StoreSettings::default()).await.unwrap();
        let options = PutOptions::default();
        for length in 0..3 {
            let seen = store.update("k", options, |before| ready(appended(before))).await;
            assert_eq!(seen.unwrap(), length);
        }
        let keep = |_| ready(Ok::<_, StorageError>(ObjectChange::Keep("kept")));
        assert_eq!(store.update("k", options, keep).await.unwrap(), "kept");
        assert_eq!(store.get("k").await.unwrap(), "xxx");
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_with_the_name_of_a_directory_is_an_error_without_retries() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = open(folder.path().to_str().unwrap(), &StoreSettings::default()).await.unwrap();
        store.put("k/object", Bytes::new(), PutOptions::default()).await.unwrap();
        let change = |before| ready(appended(before));
        let error = store.update("k", PutOptions::default(), change).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("/k: is a directory"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_others_keep_replacing_is_an_error_after_the_last_attempt() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = open(folder.path().to_str().unwrap(), &StoreSettings::default()).await.unwrap();
        let tries = std::cell::Cell::new(0);
        let change = |before| {
            tries.set(tries.get() + 1);
            let store = &store;
            let other = Bytes::from(format!("other {}", tries.get()));
            async move {
                store.put("k", other, PutOptions::default()).await?;
                appended(before)
            }
        };
        let error = store.update("k", PutOptions::default(), change).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::PreconditionFailed, "{error}");
        assert!(error.to_string().contains("/k: other writers keep replacing it"), "{error}");
        assert_eq!((tries.get(), store.get("k").await.unwrap()), (8, "other 8".into()));
    }
}
