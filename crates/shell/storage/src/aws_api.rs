//! Signed requests to AWS APIs without the SDKs of these services: credentials, endpoint, signature
//! and retries.

use std::time::{Duration, SystemTime};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::{Credentials, provider::ProvideCredentials};
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use aws_types::service_config::ServiceConfigKey;
use reqwest::{Client, RequestBuilder, StatusCode, redirect::Policy};

use crate::{
    aws_error, backoff,
    error::{StorageError, StorageErrorKind, describe},
    settings::AwsSettings,
};

/// Maximum attempts per request. With waits of up to 3 s in total, a request survives a short
/// overload.
const MAX_TRIES: u32 = 5;
/// Time limit for connecting to an API.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for one attempt, including the response.
const TRY_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct AwsService {
    /// The service's name in the SDK's environment variables and profiles, such as `CloudFront`.
    pub(crate) id: &'static str,
    pub(crate) signed_as: &'static str,
    /// The only region of a global service. `None` if the service has regions.
    pub(crate) region: Option<&'static str>,
    /// The endpoint's URL, with `{region}` as a placeholder.
    pub(crate) endpoint: &'static str,
}

pub(crate) struct AwsRequest<'a> {
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'static str, &'static str)],
    pub(crate) body: String,
    pub(crate) action: &'static str,
    pub(crate) place: &'a str,
}

pub(crate) struct AwsApi {
    credentials: Credentials,
    endpoint: String,
    region: String,
    signed_as: &'static str,
}

impl AwsApi {
    pub(crate) async fn load(
        service: &AwsService,
        settings: &AwsSettings,
        action: &'static str,
        place: &str,
    ) -> Result<Self, StorageError> {
        let mut loader = aws_config::defaults(BehaviorVersion::latest());
        let region = service.region.map(str::to_owned).or_else(|| settings.region.clone());
        if let Some(region) = region {
            loader = loader.region(Region::new(region));
        }
        let config = loader.load().await;
        let credentials = match &settings.access_key {
            Some(pair) => Some(Credentials::new(&pair.id, &pair.secret, None, None, "everytab")),
            None => match config.credentials_provider() {
                Some(provider) => provider.provide_credentials().await.ok(),
                None => None,
            },
        };
        let credentials = credentials.ok_or_else(|| aws_error::no_credentials(action, place))?;
        let region = config.region().map(ToString::to_string).ok_or_else(|| {
            let cause = "no region is set; set AWS_REGION or a profile's region";
            StorageError::new(StorageErrorKind::Invalid, action, place, cause)
        })?;
        let endpoint = settings.endpoint.clone().or_else(|| configured_endpoint(service, &config));
        let endpoint = endpoint.unwrap_or_else(|| service.endpoint.replace("{region}", &region));
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        Ok(Self { credentials, endpoint, region, signed_as: service.signed_as })
    }

    pub(crate) fn region(&self) -> &str {
        &self.region
    }

    /// Sends a request, and repeats it while the service is overloaded or cannot be reached.
    ///
    /// # Errors
    /// Returns an error if the service cannot be reached. A response with an error status is not an
    /// error here.
    pub(crate) async fn post(
        &self,
        request: &AwsRequest<'_>,
    ) -> Result<(StatusCode, String), StorageError> {
        let error =
            |kind, cause: String| StorageError::new(kind, request.action, request.place, cause);
        let client = client();
        let client =
            client.map_err(|failed| error(StorageErrorKind::Invalid, describe(&failed)))?;
        let mut tries = 1;
        loop {
            let signed = self.signed(&client, request);
            let signed = signed.map_err(|cause| error(StorageErrorKind::Invalid, cause))?;
            let reply = read_response(signed).await;
            let is_transient = reply.as_ref().map_or(true, |(status, _)| {
                *status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
            });
            if !is_transient || tries >= MAX_TRIES {
                return reply.map_err(|cause| error(StorageErrorKind::Unreachable, cause));
            }
            tracing::debug!(place = request.place, ?reply, tries, "retrying the AWS request");
            tokio::time::sleep(backoff::jittered(tries)).await;
            tries += 1;
        }
    }

    fn signed(&self, client: &Client, request: &AwsRequest<'_>) -> Result<RequestBuilder, String> {
        let address = format!("{}{}", self.endpoint, request.path);
        let identity = self.credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.signed_as)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| error.to_string())?
            .into();
        let signable = SignableRequest::new(
            "POST",
            &address,
            request.headers.iter().copied(),
            SignableBody::Bytes(request.body.as_bytes()),
        );
        let signed = signable.and_then(|request| sign(request, &parameters));
        let (instructions, _) = signed.map_err(|error| error.to_string())?.into_parts();
        let (signed, _) = instructions.into_parts();
        let mut sending = client.post(&address).body(request.body.clone());
        for (name, value) in request.headers {
            sending = sending.header(*name, *value);
        }
        for header in &signed {
            sending = sending.header(header.name(), header.value());
        }
        Ok(sending)
    }
}

fn client() -> reqwest::Result<Client> {
    Client::builder()
        .user_agent(concat!("everytab/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TRY_TIMEOUT)
        .redirect(Policy::none())
        .build()
}

async fn read_response(sending: RequestBuilder) -> Result<(StatusCode, String), String> {
    let broken = |error: &reqwest::Error| {
        if error.is_timeout() {
            "no response in time; try again".to_owned()
        } else {
            format!("{}; check the endpoint and the network", describe(error))
        }
    };
    let response = sending.send().await.map_err(|error| broken(&error))?;
    let status = response.status();
    Ok((status, response.text().await.map_err(|error| broken(&error))?))
}

fn configured_endpoint(service: &AwsService, config: &SdkConfig) -> Option<String> {
    let key = ServiceConfigKey::builder()
        .service_id(service.id)
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build()
        .ok()?;
    let of_service = config.service_config().and_then(|configured| configured.load_config(key));
    of_service.or_else(|| config.endpoint_url().map(str::to_owned))
}

/// Returns the content of the first element with this name, without decoding entities.
pub(crate) fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}
