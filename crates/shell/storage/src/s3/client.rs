//! Configures the SDK's client: credentials, endpoint, region, timeouts, retries.

use std::time::Duration;

use aws_config::{
    BehaviorVersion, Region, environment::EnvironmentVariableRegionProvider,
    meta::region::RegionProviderChain, profile::ProfileFileRegionProvider, retry::RetryConfig,
    timeout::TimeoutConfig,
};
use aws_sdk_s3::{
    Client,
    config::{
        Builder, ConfigBag, Credentials, Intercept, RequestChecksumCalculation,
        ResponseChecksumValidation, RuntimeComponents, SharedCredentialsProvider,
        interceptors::{BeforeTransmitInterceptorContextMut, InterceptorContext},
        retry::{ClassifyRetry, RetryAction},
    },
    error::BoxError,
};

use crate::{aws_error::CONDITIONAL_CONFLICT, settings::StoreSettings};

/// The region of Common Crawl's bucket.
const DEFAULT_REGION: &str = "us-east-1";

pub(super) async fn build(settings: &StoreSettings) -> (Client, Option<SharedCredentialsProvider>) {
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .retry_config(retries(settings))
        .timeout_config(timeouts(settings));
    let environment_endpoint = std::env::var_os("AWS_ENDPOINT_URL_S3").is_some()
        || std::env::var_os("AWS_ENDPOINT_URL").is_some();
    let custom_endpoint = settings.endpoint.is_some() || environment_endpoint;
    loader = match &settings.region {
        Some(region) => loader.region(Region::new(region.clone())),
        // Outside EC2, querying the metadata service for a region takes seconds. An endpoint that
        // is not Amazon's is rarely used on EC2.
        None if custom_endpoint => loader.region(
            RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
                .or_else(ProfileFileRegionProvider::new())
                .or_else(Region::from_static(DEFAULT_REGION)),
        ),
        None => loader.region(RegionProviderChain::default_provider().or_else(DEFAULT_REGION)),
    };
    if settings.no_credentials {
        loader = loader.no_credentials();
    } else if let Some(pair) = &settings.access_key {
        loader = loader.credentials_provider(Credentials::new(
            &pair.id,
            &pair.secret,
            None,
            None,
            "everytab",
        ));
    }
    if let Some(endpoint) = &settings.endpoint {
        loader = loader.endpoint_url(endpoint);
    }
    let shared = loader.load().await;
    let mut builder = Builder::from(&shared)
        .retry_classifier(OverloadIsTransient)
        .interceptor(UserAgent(settings.user_agent.clone()));
    if custom_endpoint || shared.endpoint_url().is_some() {
        // S3-compatible stores address buckets by path. Several of them reject the checksums that
        // the SDK has added by default since 2025.
        builder = builder
            .force_path_style(true)
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired);
    }
    (Client::from_conf(builder.build()), shared.credentials_provider())
}

/// With an adaptive rate, each attempt needs a permit, so the store retries instead of the SDK.
fn retries(settings: &StoreSettings) -> RetryConfig {
    if settings.rate.is_some() {
        return RetryConfig::disabled();
    }
    RetryConfig::standard()
        .with_max_attempts(settings.max_attempts.max(1))
        .with_initial_backoff(Duration::from_millis(200))
        .with_max_backoff(Duration::from_secs(20))
}

fn timeouts(settings: &StoreSettings) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.idle_timeout)
        .operation_attempt_timeout(settings.attempt_timeout)
        .build()
}

/// Replaces the SDK's User-Agent. Signatures do not cover this field.
#[derive(Debug)]
struct UserAgent(String);

impl Intercept for UserAgent {
    fn name(&self) -> &'static str {
        "user agent"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        context.request_mut().headers_mut().try_insert("user-agent", self.0.clone())?;
        Ok(())
    }
}

/// The SDK retries the statuses 500, 502, 503 and 504. This adds the statuses that compatible
/// stores and proxies send under load, and S3's 409 for conflicting conditional puts.
#[derive(Debug)]
struct OverloadIsTransient;

impl ClassifyRetry for OverloadIsTransient {
    fn classify_retry(&self, context: &InterceptorContext) -> RetryAction {
        let Some(response) = context.response() else { return RetryAction::NoActionIndicated };
        match response.status().as_u16() {
            429 => RetryAction::throttling_error(),
            // 501 and 505 are permanent errors, and 507 means that the disk is full.
            500 | 502..=504 | 508..=599 => RetryAction::transient_error(),
            409 if response.body().bytes().is_some_and(is_conditional_conflict) => {
                RetryAction::transient_error()
            }
            _ => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "overload is transient"
    }
}

fn is_conditional_conflict(body: &[u8]) -> bool {
    let code = CONDITIONAL_CONFLICT.as_bytes();
    body.windows(code.len()).any(|window| window == code)
}
