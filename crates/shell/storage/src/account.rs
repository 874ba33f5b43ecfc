//! Finds the AWS account of the credentials, and how many cores it may run.
//!
//! A new account has a quota of a few cores, and an Auto Scaling group that exceeds it reports this
//! only in its activities.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    AwsSettings,
    aws_api::{AwsApi, AwsRequest, AwsService, element},
    aws_error,
    error::{StorageError, StorageErrorKind},
};

const STS: AwsService = AwsService {
    id: "STS",
    signed_as: "sts",
    region: None,
    endpoint: "https://sts.{region}.amazonaws.com",
};
const SERVICE_QUOTAS: AwsService = AwsService {
    id: "Service Quotas",
    signed_as: "servicequotas",
    region: None,
    endpoint: "https://servicequotas.{region}.amazonaws.com",
};

/// The identity behind the credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The 12-digit account id.
    pub account: String,
    /// The region that was called.
    pub region: String,
}

/// Returns the account that the credentials belong to.
///
/// # Errors
/// Returns an error if there are no credentials or no region, or STS denies access or cannot be
/// reached.
pub async fn caller(settings: &AwsSettings) -> Result<Caller, StorageError> {
    const ACTION: &str = "query";
    const PLACE: &str = "STS for the account";
    let api = AwsApi::load(&STS, settings, ACTION, PLACE).await?;
    let request = AwsRequest {
        path: "/",
        headers: &[("content-type", "application/x-www-form-urlencoded")],
        body: "Action=GetCallerIdentity&Version=2011-06-15".to_owned(),
        action: ACTION,
        place: PLACE,
    };
    let (status, xml) = api.post(&request).await?;
    let account = element(&xml, "Account").filter(|_| status.is_success());
    match account {
        Some(account) => {
            Ok(Caller { account: account.to_owned(), region: api.region().to_owned() })
        }
        None => {
            let part = |name| element(&xml, name).unwrap_or_default();
            Err(rejection(ACTION, PLACE, part("Code"), status, part("Message")))
        }
    }
}

/// Returns the value of a quota, such as `L-34B43A08` for `ec2`.
///
/// # Errors
/// Returns an error if there are no credentials or no region, or Service Quotas denies access or
/// cannot be reached.
pub async fn quota(
    service: &str,
    quota: &str,
    settings: &AwsSettings,
) -> Result<f64, StorageError> {
    const ACTION: &str = "read";
    let place = format!("quota {quota} of {service}");
    let api = AwsApi::load(&SERVICE_QUOTAS, settings, ACTION, &place).await?;
    let request = AwsRequest {
        path: "/",
        headers: &[
            ("content-type", "application/x-amz-json-1.1"),
            ("x-amz-target", "ServiceQuotasV20190624.GetServiceQuota"),
        ],
        body: json!({ "ServiceCode": service, "QuotaCode": quota }).to_string(),
        action: ACTION,
        place: &place,
    };
    let (status, text) = api.post(&request).await?;
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    let value = answer["Quota"]["Value"].as_f64().filter(|_| status.is_success());
    value.ok_or_else(|| {
        // The error type may have a namespace prefix: `com.amazonaws...#NoSuchResourceException`.
        let kind = answer["__type"].as_str().unwrap_or_default();
        let kind = kind.rsplit('#').next().unwrap_or_default();
        let message = answer["message"].as_str().or(answer["Message"].as_str());
        rejection(ACTION, &place, kind, status, message.unwrap_or_default())
    })
}

fn rejection(
    action: &'static str,
    place: &str,
    code: &str,
    status: StatusCode,
    message: &str,
) -> StorageError {
    let code = match code {
        "AccessDeniedException" => "AccessDenied",
        "ExpiredTokenException" => "ExpiredToken",
        "InvalidClientTokenId" | "UnrecognizedClientException" => "InvalidAccessKeyId",
        code if status.is_success() && code.is_empty() => {
            let cause = "the response is not from this API; check the endpoint";
            return StorageError::new(StorageErrorKind::Invalid, action, place, cause);
        }
        code => code,
    };
    aws_error::from_code(action, place, code, Some(status.as_u16()), message)
}
