//! Reads ranges of objects with our own requests, which are signed like the SDK's. A scan reads 30
//! million records, and for one request the SDK uses more CPU time than parsing a page takes
//! (`docs/decisions/0014-ranges-without-the-sdk.md`).
//!
//! The result is exactly the range, cut at the end of the object, or an error. After an error the
//! SDK requests the range again, so that retries, waits and errors are the same as for other
//! requests.

use std::{
    fmt,
    ops::Range,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aws_sdk_s3::{
    Client, Config,
    config::{Credentials, ProvideCredentials, SharedCredentialsProvider},
    presigning::PresigningConfig,
    primitives::{DateTime, DateTimeFormat},
};
use bytes::Bytes;
use reqwest::{
    Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, RANGE},
    redirect::Policy,
};
use tokio::sync::Mutex;
use url::Url;

use crate::{
    s3::signature::{Scope, SigningKey, path_encoded},
    settings::StoreSettings,
};

/// Credentials are renewed this long before they expire, as in the SDK.
const BEFORE_EXPIRY: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SdkRetry {
    /// The response is an error or contains other bytes. The SDK requests the range immediately.
    Now,
    /// The server is busy. The SDK requests the range after a wait.
    WhenLessBusy,
    /// The connection broke. The SDK requests the range after a wait.
    AfterWait,
}

pub(super) struct Ranges {
    client: reqwest::Client,
    base: Url,
    host: String,
    scope: Scope,
    credentials: Option<SharedCredentialsProvider>,
    key: Mutex<Option<Arc<Signer>>>,
}

struct Signer {
    key: SigningKey,
    expires: Option<SystemTime>,
}

impl fmt::Debug for Ranges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ranges").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Ranges {
    /// `None` if the SDK signs requests for this bucket in a way that is not implemented here.
    pub(super) async fn of(
        sdk: &Client,
        credentials: Option<SharedCredentialsProvider>,
        bucket: &str,
        settings: &StoreSettings,
    ) -> Option<Self> {
        // A presigned URL shows the endpoint, region and signature version. Creating it needs
        // neither the network nor a real key.
        let no_key = Credentials::new("none", "none", None, None, "everytab");
        let link = sdk
            .get_object()
            .bucket(bucket)
            .key("k")
            .customize()
            .config_override(Config::builder().credentials_provider(no_key))
            .presigned(PresigningConfig::expires_in(Duration::from_secs(60)).ok()?)
            .await
            .ok()?;
        let link = Url::parse(link.uri()).ok()?;
        let scope = scope_of(&link)?;
        let mut base = link;
        base.set_query(None);
        let folder = base.path().strip_suffix('k')?.to_owned();
        base.set_path(&folder);
        let host = base.host_str()?;
        let host = base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let client = reqwest::Client::builder()
            .user_agent(&settings.user_agent)
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.idle_timeout)
            .timeout(settings.attempt_timeout)
            .redirect(Policy::none())
            .http1_only()
            .build()
            .ok()?;
        Some(Self { client, base, host, scope, credentials, key: Mutex::new(None) })
    }

    pub(super) async fn read(&self, key: &str, range: &Range<u64>) -> Result<Bytes, SdkRetry> {
        let path = format!("{}{}", self.base.path(), path_encoded(key));
        let mut address = self.base.clone();
        address.set_path(&path);
        if address.path() != path {
            return Err(SdkRetry::Now);
        }
        let asked = format!("bytes={}-{}", range.start, range.end.saturating_sub(1));
        let mut request = self.client.get(address).header(RANGE, &asked);
        if self.credentials.is_some() {
            let now = SystemTime::now();
            let signer = self.signer(now).await.ok_or(SdkRetry::Now)?;
            let time = basic_time(now).ok_or(SdkRetry::Now)?;
            let signed = signer.key.sign(&self.host, &path, &asked, &time);
            request = request
                .header(AUTHORIZATION, signed.authorization)
                .header("x-amz-date", time)
                .header("x-amz-content-sha256", signed.content_sha256);
            if let Some(token) = signed.token {
                request = request.header("x-amz-security-token", token);
            }
        }
        let response = request.send().await.map_err(|_| SdkRetry::AfterWait)?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => whole(response, range).await,
            StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                // The key may have been replaced before its expiry.
                *self.key.lock().await = None;
                Err(SdkRetry::Now)
            }
            StatusCode::TOO_MANY_REQUESTS => Err(SdkRetry::WhenLessBusy),
            status if status.is_server_error() => Err(SdkRetry::WhenLessBusy),
            _ => Err(SdkRetry::Now),
        }
    }

    /// Derives the signing key once per day, and again when the credentials expire or are rejected.
    async fn signer(&self, now: SystemTime) -> Option<Arc<Signer>> {
        let day = basic_time(now)?.get(..8)?.to_owned();
        let mut known = self.key.lock().await;
        let usable = known.as_ref().filter(|signer| {
            signer.key.day() == day && signer.expires.is_none_or(|end| now + BEFORE_EXPIRY < end)
        });
        if let Some(signer) = usable {
            return Some(Arc::clone(signer));
        }
        let credentials = self.credentials.as_ref()?.provide_credentials().await.ok()?;
        let signer = Arc::new(Signer {
            key: SigningKey::derive(
                credentials.access_key_id(),
                credentials.secret_access_key(),
                credentials.session_token(),
                &day,
                &self.scope,
            ),
            expires: credentials.expiry(),
        });
        *known = Some(Arc::clone(&signer));
        Some(signer)
    }
}

/// `None` unless the presigned URL uses Signature Version 4.
fn scope_of(link: &Url) -> Option<Scope> {
    let value = |wanted: &str| {
        link.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
    };
    if value("X-Amz-Algorithm")? != "AWS4-HMAC-SHA256" || value("X-Amz-S3session-Token").is_some() {
        return None;
    }
    let credential = value("X-Amz-Credential")?;
    let mut parts = credential.rsplit('/').skip(1);
    let (service, region) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    Some(Scope { region, service })
}

fn basic_time(now: SystemTime) -> Option<String> {
    let seconds = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let time = DateTime::from_secs(i64::try_from(seconds).ok()?).fmt(DateTimeFormat::DateTime);
    Some(time.ok()?.replace(['-', ':'], ""))
}

async fn whole(response: Response, range: &Range<u64>) -> Result<Bytes, SdkRetry> {
    let field = |name| response.headers().get(name)?.to_str().ok();
    let named =
        field(CONTENT_RANGE).and_then(|value| value.strip_prefix("bytes ")?.split_once('/'));
    let named = named.and_then(|(range, _)| range.split_once('-'));
    let (first, last) = named.ok_or(SdkRetry::Now)?;
    let (first, last): (u64, u64) =
        first.parse().ok().zip(last.parse().ok()).ok_or(SdkRetry::Now)?;
    let length: Option<u64> = field(CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let expected = last.checked_sub(first).and_then(|length| length.checked_add(1));
    if first != range.start || last >= range.end || length.is_none() || length != expected {
        return Err(SdkRetry::Now);
    }
    let bytes = response.bytes().await.map_err(|_| SdkRetry::AfterWait)?;
    if Some(bytes.len() as u64) == expected { Ok(bytes) } else { Err(SdkRetry::AfterWait) }
}
