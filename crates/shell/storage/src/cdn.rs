//! Invalidates paths in a CDN (CloudFront), so that the CDN fetches them from the site again.

use reqwest::StatusCode;

use crate::{
    AwsSettings,
    aws_api::{AwsApi, AwsRequest, AwsService, element},
    aws_error,
    error::{StorageError, StorageErrorKind},
};

/// CloudFront is a global service. Its requests are signed for this region.
const CLOUDFRONT: AwsService = AwsService {
    id: "CloudFront",
    signed_as: "cloudfront",
    region: Some("us-east-1"),
    endpoint: "https://cloudfront.amazonaws.com",
};
const API_VERSION: &str = "2020-05-31";
const ACTION: &str = "invalidate";

/// Invalidates `paths` and returns the id of the invalidation, which may not be complete yet. Each
/// path starts with `/`, is percent-encoded and may end with `*`. Repeating a call with the same
/// `caller_reference` and paths does not start a second invalidation.
///
/// # Errors
/// Returns an error if the distribution's id or a path is malformed, there are no credentials, or
/// CloudFront denies access or cannot be reached.
pub async fn invalidate(
    distribution_id: &str,
    paths: &[String],
    caller_reference: &str,
    settings: &AwsSettings,
) -> Result<String, StorageError> {
    let place = format!("CloudFront distribution {distribution_id}");
    let invalid = |cause: &str| StorageError::new(StorageErrorKind::Invalid, ACTION, &place, cause);
    let well_formed = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
    if !well_formed(distribution_id) {
        return Err(invalid("its ID must consist of letters and digits, such as E2QWRUHAPOMQZL"));
    }
    if paths.is_empty() || paths.iter().any(|path| !path.starts_with('/')) {
        return Err(invalid("name at least one path, each with a leading slash"));
    }
    let api = AwsApi::load(&CLOUDFRONT, settings, ACTION, &place).await?;
    let request = AwsRequest {
        path: &format!("/{API_VERSION}/distribution/{distribution_id}/invalidation"),
        headers: &[("content-type", "application/xml")],
        body: invalidation_batch(paths, caller_reference),
        action: ACTION,
        place: &place,
    };
    let (status, xml) = api.post(&request).await?;
    if status.is_success() {
        Ok(element(&xml, "Id").unwrap_or_default().to_owned())
    } else {
        Err(rejection(&place, status, &xml))
    }
}

fn rejection(place: &str, status: StatusCode, xml: &str) -> StorageError {
    let (kind, remedy) = match element(xml, "Code").unwrap_or_default() {
        "NoSuchDistribution" => (StorageErrorKind::Invalid, "no such distribution; correct its ID"),
        "TooManyInvalidationsInProgress" => (
            StorageErrorKind::Unreachable,
            "too many invalidations are in progress; try again in some minutes",
        ),
        code => {
            let message = element(xml, "Message").unwrap_or_default();
            return aws_error::from_code(ACTION, place, code, Some(status.as_u16()), message);
        }
    };
    StorageError::new(kind, ACTION, place, remedy)
}

fn invalidation_batch(paths: &[String], caller_reference: &str) -> String {
    let items: String =
        paths.iter().map(|path| format!("<Path>{}</Path>", escaped(path))).collect();
    let quantity = paths.len();
    let reference = escaped(caller_reference);
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
