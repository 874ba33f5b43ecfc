//! Inspects fetched bodies, and adds those of images to the spool.

use std::{io, panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::{
    local_failure::LocalFailure,
    outcome::Outcome,
    request::{
        content::{ImageFacts, judge},
        spool::{Payload, Spool},
    },
    shard::{url_fetch::UrlFetch, work::ShardWork},
};

/// Maximum size in bytes of a head and body to inspect on the current thread, because hashing and
/// measuring them takes less time than waking another thread.
const INLINE_HASH_MAX_BYTES: usize = 32 * 1024;

pub(crate) async fn inspect_and_keep(
    work: &Arc<ShardWork>,
    mut result: UrlFetch,
    head: Vec<u8>,
    body: Bytes,
) -> Result<UrlFetch, LocalFailure> {
    result.bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let spool = Arc::clone(&work.spool);
    let is_small = head.len() + body.len() <= INLINE_HASH_MAX_BYTES;
    let inspect = move || inspect_body(&spool, &head, &body);
    let verdict = if is_small {
        std::panic::catch_unwind(AssertUnwindSafe(inspect)).ok()
    } else {
        let permit = work.shared.inspections.acquire().await;
        let _permit = permit.map_err(|_closed| LocalFailure::Memory)?;
        tokio::task::spawn_blocking(inspect).await.ok()
    };
    match verdict {
        Some(Ok(BodyVerdict { outcome, facts, kept })) => {
            result.outcome = outcome;
            result.facts = facts;
            result.sha256 = kept.map(|(sha256, _)| sha256);
            result.payload = kept.map(|(_, payload)| payload);
        }
        Some(Err(error)) => return Err(of_spool_error(&error)),
        // The same body would make every worker panic, so the URL is recorded as crashed.
        None => result.outcome = Outcome::Crashed,
    }
    if work.spool.wants_to_write() {
        let spool = Arc::clone(&work.spool);
        let written = tokio::task::spawn_blocking(move || spool.write_pending()).await;
        written.map_err(|_| LocalFailure::Spool)?.map_err(|error| of_spool_error(&error))?;
    }
    Ok(result)
}

struct BodyVerdict {
    outcome: Outcome,
    facts: Option<ImageFacts>,
    kept: Option<([u8; 32], Payload)>,
}

fn inspect_body(spool: &Spool, head: &[u8], body: &[u8]) -> io::Result<BodyVerdict> {
    let (outcome, facts) = judge(body);
    if outcome != Outcome::Ok {
        return Ok(BodyVerdict { outcome, facts, kept: None });
    }
    let sha256: [u8; 32] = Sha256::digest(body).into();
    let payload = spool.add(head, body, sha256)?;
    Ok(BodyVerdict { outcome, facts, kept: Some((sha256, payload)) })
}

fn of_spool_error(error: &io::Error) -> LocalFailure {
    tracing::warn!(%error, "cannot store icon bodies in the spool");
    LocalFailure::Spool
}
