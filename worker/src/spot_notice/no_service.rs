//! The instance metadata service in a program that was built without the feature `ec2`: never
//! asked.

use url::Url;

/// Whether this program can ask the service.
pub(super) const IS_BUILT_IN: bool = false;

/// Never returns: no notice can be seen.
pub async fn wait_for_notice(_endpoint: Url) -> String {
    std::future::pending().await
}
