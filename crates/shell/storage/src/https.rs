//! A read-only store over HTTPS or HTTP, such as Common Crawl's mirror.
//!
//! Common Crawl allows fewer than ten requests per second to its mirror, and responds to faster
//! clients with 403. With an adaptive rate, every attempt needs a permit, and a 403 pauses all
//! attempts (`adaptive_rate`). This module does not check addresses, so it must not be used for
//! URLs from a page.

mod response;

use std::{ops::Range, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use reqwest::{
    Client, Method, Response, StatusCode,
    header::{ACCEPT_ENCODING, RANGE, RETRY_AFTER},
    redirect::Policy,
};
use response::{ObjectResponse, Wanted};
use tokio::sync::Semaphore;
use url::Url;

use crate::{
    adaptive_rate::{AdaptiveRate, Attempts},
    backoff,
    error::{StorageError, StorageErrorKind, describe, invalid_setting},
    key::check_key,
    settings::StoreSettings,
    store::{
        Condition, ObjectInfo, PutIf, PutOptions, Store, Tagged, none_if_missing, range_length,
        starts_past_the_end,
    },
};

/// All HTTPS stores of this process share this limit, because each request has a connection.
static REQUESTS_IN_FLIGHT: Semaphore = Semaphore::const_new(50);
/// Maximum time to wait for a server's `Retry-After`. A longer wait would look like a stall.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);
/// Maximum redirects per request.
const MAX_REDIRECTS: usize = 5;

#[derive(Debug)]
pub(crate) struct HttpsStore {
    client: Client,
    base: Url,
    url: String,
    max_attempts: u32,
    max_get_bytes: u64,
    rate: Option<Arc<AdaptiveRate>>,
}

struct FailedTry {
    error: StorageError,
    wait: Option<Duration>,
}

impl From<StorageError> for FailedTry {
    fn from(error: StorageError) -> Self {
        Self { error, wait: None }
    }
}

impl HttpsStore {
    pub(crate) fn open(base: Url, settings: &StoreSettings) -> Result<Self, StorageError> {
        let secure = base.scheme() == "https";
        let mut builder = Client::builder()
            .user_agent(&settings.user_agent)
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.idle_timeout)
            .timeout(settings.attempt_timeout)
            .redirect(Policy::custom(move |attempt| {
                let downgrade = secure && attempt.url().scheme() != "https";
                if downgrade || attempt.previous().len() > MAX_REDIRECTS {
                    attempt.stop()
                } else {
                    attempt.follow()
                }
            }));
        if let Some(pem) = &settings.extra_certificates_pem {
            let certificates = reqwest::Certificate::from_pem_bundle(pem)
                .map_err(|error| invalid_setting(base.as_str(), describe(&error)))?;
            builder = builder.tls_certs_merge(certificates);
        }
        let client =
            builder.build().map_err(|error| invalid_setting(base.as_str(), describe(&error)))?;
        Ok(Self {
            client,
            url: base.as_str().trim_end_matches('/').to_owned(),
            base,
            max_attempts: settings.max_attempts.max(1),
            max_get_bytes: settings.max_get_bytes,
            rate: settings.rate.clone(),
        })
    }

    fn address(&self, key: &str) -> Result<Url, StorageError> {
        check_key(&self.url, key)?;
        let mut address = self.base.clone();
        address
            .path_segments_mut()
            .map_err(|()| invalid_setting(&self.url, "it cannot have a path"))?
            .pop_if_empty()
            .extend(key.split('/'));
        Ok(address)
    }

    async fn fetch(&self, key: &str, wanted: &Wanted) -> Result<ObjectResponse, StorageError> {
        let address = self.address(key)?;
        let place = self.place(key);
        let mut attempts = Attempts::new(self.rate.as_deref(), self.max_attempts);
        loop {
            let attempt = attempts.begin().await;
            let result = {
                let _slot = REQUESTS_IN_FLIGHT.acquire().await.map_err(|closed| {
                    StorageError::new(StorageErrorKind::Other, "read", address.as_str(), closed)
                })?;
                match self.send(&address, wanted).await {
                    Ok(response) => {
                        response::read(&place, response, wanted).await.map_err(FailedTry::from)
                    }
                    Err(failure) => Err(failure),
                }
            };
            let goes_on = attempts.goes_on(result.as_ref().err().map(|failure| &failure.error));
            match result {
                Ok(reply) => return Ok(reply),
                Err(failure) if goes_on => {
                    let asked = failure.wait.unwrap_or_default().min(MAX_RETRY_AFTER);
                    tracing::debug!(error = %failure.error, attempt, "retrying the read");
                    tokio::time::sleep(asked.max(backoff::jittered(attempt))).await;
                }
                Err(failure) => return Err(failure.error),
            }
        }
    }

    async fn send(&self, address: &Url, wanted: &Wanted) -> Result<Response, FailedTry> {
        let method = if *wanted == Wanted::Head { Method::HEAD } else { Method::GET };
        // Range offsets refer to the stored bytes, so the transfer must not be compressed.
        let mut request =
            self.client.request(method, address.clone()).header(ACCEPT_ENCODING, "identity");
        if let Wanted::Range(range) = wanted {
            let last = range.end.saturating_sub(1);
            request = request.header(RANGE, format!("bytes={}-{last}", range.start));
        }
        let response = request.send().await.map_err(|error| network(address, &error))?;
        match (response.status(), wanted) {
            (StatusCode::OK | StatusCode::PARTIAL_CONTENT, _) => Ok(response),
            (StatusCode::RANGE_NOT_SATISFIABLE, Wanted::Range(range)) => {
                Err(starts_past_the_end(address.as_str(), range).into())
            }
            _ => Err(rejection(address, &response)),
        }
    }

    fn place(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }

    fn read_only<T>(&self, action: &'static str) -> Result<T, StorageError> {
        Err(StorageError::new(
            StorageErrorKind::Invalid,
            action,
            &self.url,
            "a store behind HTTP can only be read; name a directory or an s3:// URL",
        ))
    }
}

#[async_trait]
impl Store for HttpsStore {
    fn url(&self) -> &str {
        &self.url
    }

    async fn head(&self, key: &str) -> Result<Option<ObjectInfo>, StorageError> {
        let reply = none_if_missing(self.fetch(key, &Wanted::Head).await)?;
        Ok(reply.map(|reply| ObjectInfo {
            key: key.to_owned(),
            size: reply.size,
            etag: reply.etag,
        }))
    }

    async fn get(&self, key: &str) -> Result<Bytes, StorageError> {
        Ok(self.fetch(key, &Wanted::Whole { most: self.max_get_bytes }).await?.bytes)
    }

    async fn get_tagged(&self, key: &str) -> Result<Option<Tagged>, StorageError> {
        let reply =
            none_if_missing(self.fetch(key, &Wanted::Whole { most: self.max_get_bytes }).await)?;
        Ok(reply.map(|reply| Tagged { bytes: reply.bytes, etag: reply.etag.unwrap_or_default() }))
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Bytes, StorageError> {
        check_key(&self.url, key)?;
        if range_length(&self.place(key), &range, self.max_get_bytes)? == 0 {
            return Ok(Bytes::new());
        }
        Ok(self.fetch(key, &Wanted::Range(range)).await?.bytes)
    }

    async fn put(&self, _: &str, _: Bytes, _: PutOptions) -> Result<(), StorageError> {
        self.read_only("write to")
    }

    async fn put_file(&self, _: &str, _: &Path, _: PutOptions) -> Result<(), StorageError> {
        self.read_only("write to")
    }

    async fn put_if(
        &self,
        _: &str,
        _: Bytes,
        _: Condition,
        _: PutOptions,
    ) -> Result<PutIf, StorageError> {
        self.read_only("write to")
    }

    fn list(&self, _: &str) -> BoxStream<'static, Result<ObjectInfo, StorageError>> {
        let refusal = self.read_only("list");
        stream::once(async { refusal }).boxed()
    }

    async fn delete(&self, _: &[String]) -> Result<(), StorageError> {
        self.read_only("delete from")
    }
}

fn network(address: &Url, error: &reqwest::Error) -> FailedTry {
    let cause = if error.is_timeout() {
        "no response in time; try again".to_owned()
    } else {
        format!("{}; check the address and the network", describe(error))
    };
    StorageError::new(StorageErrorKind::Unreachable, "read", address.as_str(), cause).into()
}

fn rejection(address: &Url, response: &Response) -> FailedTry {
    let status = response.status();
    let (kind, remedy) = match status.as_u16() {
        404 | 410 => (StorageErrorKind::NotFound, ""),
        401 | 403 => (
            StorageErrorKind::Denied,
            "; Common Crawl's mirror also sends this to fast clients and for missing objects",
        ),
        300..=399 => (StorageErrorKind::Invalid, "; it redirects too often or away from https"),
        // 501 and 505 are permanent errors.
        429 | 500 | 502..=504 | 506..=599 => (StorageErrorKind::Unreachable, "; try again later"),
        _ => (StorageErrorKind::Other, ""),
    };
    let cause = format!("the server responded with {status}{remedy}");
    let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let error = StorageError::new(kind, "read", address.as_str(), cause);
    FailedTry {
        error: match kind {
            StorageErrorKind::Unreachable => error.demanding_less(),
            StorageErrorKind::Denied => error.demanding_a_pause(),
            _ => error,
        },
        wait: wait.and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs),
    }
}
