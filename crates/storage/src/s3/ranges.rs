//! Reads ranges of objects by a request of our own, signed as the SDK signs: a scan reads 30
//! million records so, and the SDK takes more of the processor for a request than a page does.
//!
//! Invariants: what comes back is exactly the range, cut where the object ends, else nothing; then
//! the SDK asks again, so that its tries, its waits and its errors are those of the store.
//! Credentials and the endpoint are the SDK's. Never prints a secret.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_s3::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};
use aws_sdk_s3::{Client, Config};
use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use tokio::sync::Mutex;
use url::Url;

use super::signature::{Scope, SigningKey, path_encoded};
use crate::settings::StoreSettings;

/// Credentials are asked for anew so long before they end, as the SDK does.
const BEFORE_EXPIRY: Duration = Duration::from_secs(10);

/// What the SDK is to do about a range that did not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// The answer is a refusal, or not what was asked for.
    Now,
    /// The server is busy, or the connection broke.
    Later,
}

/// Reads ranges of one bucket's objects.
pub(super) struct Ranges {
    client: reqwest::Client,
    /// Where the objects of the bucket lie; ends with a slash.
    base: Url,
    /// As the `Host` field has it.
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
    /// Where and in whose name the SDK would ask; `None` where it asks in a way that is not ours.
    pub(super) async fn of(
        sdk: &Client,
        credentials: Option<SharedCredentialsProvider>,
        bucket: &str,
        settings: &StoreSettings,
    ) -> Option<Self> {
        // A signed link tells endpoint, region and kind of signature. No network is needed, and no
        // real key.
        let nobody = Credentials::new("nobody", "nobody", None, None, "everytab");
        let link = sdk
            .get_object()
            .bucket(bucket)
            .key("k")
            .customize()
            .config_override(Config::builder().credentials_provider(nobody))
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
            .user_agent(concat!("everytab/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.idle_timeout)
            .timeout(settings.attempt_timeout)
            .redirect(Policy::none())
            .http1_only()
            .build()
            .ok()?;
        Some(Self { client, base, host, scope, credentials, key: Mutex::new(None) })
    }

    /// The range of the object; not empty.
    pub(super) async fn read(&self, key: &str, range: &Range<u64>) -> Result<Bytes, Again> {
        let path = format!("{}{}", self.base.path(), path_encoded(key));
        let mut address = self.base.clone();
        address.set_path(&path);
        if address.path() != path {
            return Err(Again::Now);
        }
        let asked = format!("bytes={}-{}", range.start, range.end.saturating_sub(1));
        let mut request = self.client.get(address).header(RANGE, &asked);
        if self.credentials.is_some() {
            let now = SystemTime::now();
            let signer = self.signer(now).await.ok_or(Again::Now)?;
            let time = basic_time(now).ok_or(Again::Now)?;
            let signed = signer.key.sign(&self.host, &path, &asked, &time);
            request = request
                .header(AUTHORIZATION, signed.authorization)
                .header("x-amz-date", time)
                .header("x-amz-content-sha256", signed.content_sha256);
            if let Some(token) = signed.token {
                request = request.header("x-amz-security-token", token);
            }
        }
        let response = request.send().await.map_err(|_| Again::Later)?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => whole(response, range).await,
            StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                // The key may have been changed before its time.
                *self.key.lock().await = None;
                Err(Again::Now)
            }
            StatusCode::TOO_MANY_REQUESTS => Err(Again::Later),
            status if status.is_server_error() => Err(Again::Later),
            _ => Err(Again::Now),
        }
    }

    /// The key of the day: derived once, and again when the credentials change.
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

/// Region and service that a link is signed for, by Signature Version 4.
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

/// `20260131T235959Z`.
fn basic_time(now: SystemTime) -> Option<String> {
    let seconds = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let time = DateTime::from_secs(i64::try_from(seconds).ok()?).fmt(DateTimeFormat::DateTime);
    Some(time.ok()?.replace(['-', ':'], ""))
}

/// The bytes of an answer that holds the range, and says so.
async fn whole(response: Response, range: &Range<u64>) -> Result<Bytes, Again> {
    let field = |name| response.headers().get(name)?.to_str().ok();
    let told = field(CONTENT_RANGE).and_then(|told| told.strip_prefix("bytes ")?.split_once('/'));
    let told = told.and_then(|(told, _)| told.split_once('-'));
    let (first, last) = told.ok_or(Again::Now)?;
    let (first, last): (u64, u64) = first.parse().ok().zip(last.parse().ok()).ok_or(Again::Now)?;
    let length: Option<u64> = field(CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let expected = last.checked_sub(first).and_then(|length| length.checked_add(1));
    if first != range.start || last >= range.end || length.is_none() || length != expected {
        return Err(Again::Now);
    }
    let bytes = response.bytes().await.map_err(|_| Again::Later)?;
    if Some(bytes.len() as u64) == expected { Ok(bytes) } else { Err(Again::Later) }
}
