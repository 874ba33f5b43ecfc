//! Lists a directory store in byte order of the keys, with bounded look-ahead.
//!
//! Directory names are compared with a trailing slash, so that a depth-first walk yields the keys
//! in S3's order (`a-b` before `a/b` before `a0`). Symbolic links are not objects.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::sync::mpsc;

use crate::{directory::io_error, error::StorageError, key::RESERVED_FOLDER, store::ObjectInfo};

/// Number of objects that the walking thread sends at once. With fewer, waking the reader would
/// take longer than listing.
const BATCH: usize = 1000;

type Batch = Result<Vec<ObjectInfo>, StorageError>;

pub(super) fn list(
    root: PathBuf,
    prefix: String,
    checked: Result<(), StorageError>,
) -> BoxStream<'static, Result<ObjectInfo, StorageError>> {
    if let Err(error) = checked {
        return stream::once(async { Err(error) }).boxed();
    }
    stream::once(async move {
        let (sender, receiver) = mpsc::channel::<Batch>(2);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = walk(&root, &prefix, &sender) {
                // Sending fails only if the reader was dropped.
                let _ = sender.blocking_send(Err(error));
            }
        });
        stream::unfold(receiver, |mut receiver| async {
            receiver.recv().await.map(|batch| (batch, receiver))
        })
    })
    .flatten()
    .flat_map(|batch| match batch {
        Ok(objects) => stream::iter(objects.into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => stream::iter(vec![Err(error)]),
    })
    .boxed()
}

fn walk(root: &Path, prefix: &str, sender: &mpsc::Sender<Batch>) -> Result<(), StorageError> {
    let start = prefix.rfind('/').map_or("", |slash| &prefix[..=slash]);
    // The prefix's directory may be reached through a link, but directories below it may not.
    if let (Ok(real), Ok(real_root)) = (root.join(start).canonicalize(), root.canonicalize())
        && !real.starts_with(real_root)
    {
        return Err(io_error::outside("list", &root.join(start)));
    }
    let mut waiting = children(root, start)?;
    let mut batch = Vec::new();
    while let Some(key) = waiting.pop() {
        let reaches = key.starts_with(prefix) || (key.ends_with('/') && prefix.starts_with(&key));
        if !reaches {
            continue;
        }
        if key.ends_with('/') {
            waiting.extend(children(root, &key)?);
            continue;
        }
        match fs::symlink_metadata(root.join(&key)) {
            Ok(found) if found.is_file() => {
                batch.push(ObjectInfo { key, size: found.len(), etag: None });
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(io_error::from_io("list", &root.join(&key), &error)),
        }
        if batch.len() >= BATCH && sender.blocking_send(Ok(std::mem::take(&mut batch))).is_err() {
            return Ok(());
        }
    }
    let _ = sender.blocking_send(Ok(batch));
    Ok(())
}

/// Returns the entries of a directory (`""` or a key ending with a slash) as keys in reverse order.
fn children(root: &Path, folder: &str) -> Result<Vec<String>, StorageError> {
    let path = root.join(folder);
    let fault = |error: std::io::Error| io_error::from_io("list", &path, &error);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(fault(error)),
    };
    let mut keys = Vec::new();
    for entry in entries {
        let entry = entry.map_err(fault)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            tracing::warn!(path = %entry.path().display(), "skipped a name that is not UTF-8");
            continue;
        };
        if name == RESERVED_FOLDER {
            continue;
        }
        let kind = entry.file_type().map_err(fault)?;
        if kind.is_dir() {
            keys.push(format!("{folder}{name}/"));
        } else if kind.is_file() {
            keys.push(format!("{folder}{name}"));
        }
    }
    keys.sort_unstable_by(|left, right| right.cmp(left));
    Ok(keys)
}
