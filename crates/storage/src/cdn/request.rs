//! One request to CloudFront: its XML, its address and its signature.

use std::time::SystemTime;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::{Credentials, provider::ProvideCredentials};
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use aws_types::service_config::ServiceConfigKey;

use crate::cdn::settings::CdnSettings;

/// CloudFront is one global service, whose requests are signed for this region.
const REGION: &str = "us-east-1";
/// The version of CloudFront's API that the request is written for.
const API_VERSION: &str = "2020-05-31";
/// Amazon's endpoint of CloudFront.
const ENDPOINT: &str = "https://cloudfront.amazonaws.com";
const CONTENT_TYPE: &str = "application/xml";

/// Who asks, and where.
pub(super) struct CdnAccount {
    credentials: Credentials,
    endpoint: String,
}

/// A request that can be sent.
pub(super) struct SignedRequest {
    pub(super) address: String,
    /// Names and values of all fields but `Host`.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl CdnAccount {
    /// Credentials and endpoint from the settings, else from the SDK's chain. `None`: the chain
    /// finds no credentials.
    pub(super) async fn load(settings: &CdnSettings) -> Option<Self> {
        let config = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::from_static(REGION))
            .load()
            .await;
        let credentials = match &settings.access_key {
            Some(pair) => Credentials::new(&pair.id, &pair.secret, None, None, "everytab"),
            None => config.credentials_provider()?.provide_credentials().await.ok()?,
        };
        let endpoint = settings.endpoint.clone().or_else(|| configured_endpoint(&config));
        let endpoint = endpoint.unwrap_or_else(|| ENDPOINT.to_owned());
        Some(Self { credentials, endpoint: endpoint.trim_end_matches('/').to_owned() })
    }

    /// The signed request for an invalidation of a distribution. Fails with the signer's reason.
    pub(super) fn request(
        &self,
        distribution_id: &str,
        body: String,
    ) -> Result<SignedRequest, String> {
        let address =
            format!("{}/{API_VERSION}/distribution/{distribution_id}/invalidation", self.endpoint);
        let identity = self.credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(REGION)
            .name("cloudfront")
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| error.to_string())?
            .into();
        let plain = [("content-type", CONTENT_TYPE)];
        let signable = SignableRequest::new(
            "POST",
            &address,
            plain.into_iter(),
            SignableBody::Bytes(body.as_bytes()),
        );
        let signed = signable.and_then(|request| sign(request, &parameters));
        let (instructions, _) = signed.map_err(|error| error.to_string())?.into_parts();
        let (signed, _) = instructions.into_parts();
        let mut headers = vec![("content-type".to_owned(), CONTENT_TYPE.to_owned())];
        headers.extend(signed.iter().map(|h| (h.name().to_owned(), h.value().to_owned())));
        Ok(SignedRequest { address, headers, body })
    }
}

/// The endpoint by `AWS_ENDPOINT_URL_CLOUDFRONT`, the profile or `AWS_ENDPOINT_URL`, in the order
/// of Amazon's own SDK.
fn configured_endpoint(config: &SdkConfig) -> Option<String> {
    let key = ServiceConfigKey::builder()
        .service_id("CloudFront")
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build()
        .ok()?;
    let of_cloudfront = config.service_config().and_then(|service| service.load_config(key));
    of_cloudfront.or_else(|| config.endpoint_url().map(str::to_owned))
}

/// The XML of an invalidation.
pub(super) fn invalidation_batch(paths: &[String], caller_reference: &str) -> String {
    let items: String =
        paths.iter().map(|path| format!("<Path>{}</Path>", escaped(path))).collect();
    let (quantity, reference) = (paths.len(), escaped(caller_reference));
    format!(
        "<InvalidationBatch xmlns=\"http://cloudfront.amazonaws.com/doc/{API_VERSION}/\">\
         <Paths><Quantity>{quantity}</Quantity><Items>{items}</Items></Paths>\
         <CallerReference>{reference}</CallerReference></InvalidationBatch>"
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&apos;")
}

/// The text of the first element of this name in CloudFront's XML, which has no entities in the
/// ids and codes that are asked for.
pub(super) fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_xml_names_all_paths_and_escapes_them() {
        let paths = ["/index.html".to_owned(), "/a&b*".to_owned()];
        let xml = invalidation_batch(&paths, "a<b");
        assert_eq!(element(&xml, "Quantity"), Some("2"));
        assert_eq!(element(&xml, "Items"), Some("<Path>/index.html</Path><Path>/a&amp;b*</Path>"));
        assert_eq!(element(&xml, "CallerReference"), Some("a&lt;b"));
        assert_eq!(element(&xml, "Id"), None);
    }
}
