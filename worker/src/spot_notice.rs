//! Detects that EC2 is about to terminate this instance, so that the worker drains. Reads the spot
//! notice and the Auto Scaling group's target state from the instance metadata service.
//!
//! Sources: "Spot Instance interruption notices" and "Retrieve the target lifecycle state through
//! instance metadata" in the AWS guides.

#[cfg(feature = "ec2")]
mod service;

use std::{path::Path, str::FromStr};

use url::Url;

pub use self::service::wait_for_notice;

/// The service's address on every EC2 instance.
const SERVICE: &str = "http://169.254.169.254";
const NOT_BUILT_IN: &str = "this program was built without the feature ec2";

#[cfg(not(feature = "ec2"))]
mod service {
    pub(super) const IS_BUILT_IN: bool = false;

    /// Never returns, because this program has no client for the service.
    pub async fn wait_for_notice(_endpoint: url::Url) -> String {
        std::future::pending().await
    }
}

/// The setting `--instance-metadata`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceMetadata {
    /// Follows AWS's environment variables. Without them, uses the usual address if the firmware
    /// identifies an EC2 instance.
    Auto,
    /// No requests are sent to the service.
    Off,
    /// The service at this URL.
    At(Url),
}

impl FromStr for InstanceMetadata {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => endpoint(text).map(Self::At),
        }
    }
}

fn endpoint(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "http" && url.has_host());
    url.ok_or_else(|| format!("{text:?} is not valid; expected auto, off or http://HOST[:PORT]"))
}

impl InstanceMetadata {
    /// Returns the service's URL. `None` if it must not be contacted.
    ///
    /// # Errors
    /// Returns an error if `AWS_EC2_METADATA_SERVICE_ENDPOINT` is not a valid URL, or if this
    /// program has no client for the given service.
    pub fn endpoint(&self) -> Result<Option<Url>, String> {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_disabled = variable("AWS_EC2_METADATA_DISABLED")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"));
        match self {
            Self::Off => Ok(None),
            Self::At(_) if !service::IS_BUILT_IN => {
                Err(format!("--instance-metadata: {NOT_BUILT_IN}"))
            }
            Self::Auto if !service::IS_BUILT_IN => Ok(None),
            Self::At(url) => Ok(Some(url.clone())),
            Self::Auto if is_disabled => Ok(None),
            Self::Auto => match variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") {
                Some(text) => endpoint(&text)
                    .map(Some)
                    .map_err(|reason| format!("AWS_EC2_METADATA_SERVICE_ENDPOINT: {reason}")),
                None if is_ec2(Path::new("/sys/class/dmi/id")) => endpoint(SERVICE).map(Some),
                None => Ok(None),
            },
        }
    }
}

/// Checks the firmware, which names Amazon as the vendor on Nitro instances and in a version on Xen
/// instances.
fn is_ec2(firmware: &Path) -> bool {
    ["sys_vendor", "bios_vendor", "bios_version"].iter().any(|name| {
        std::fs::read_to_string(firmware.join(name))
            .is_ok_and(|text| text.to_ascii_lowercase().contains("amazon"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_auto_off_or_an_address() {
        assert_eq!("auto".parse(), Ok(InstanceMetadata::Auto));
        assert_eq!("off".parse(), Ok(InstanceMetadata::Off));
        let url = Url::parse("http://[fd00:ec2::254]/").expect("a URL");
        assert_eq!("http://[fd00:ec2::254]".parse(), Ok(InstanceMetadata::At(url)));
        for bad in ["", "on", "169.254.169.254", "https://x", "http://", "file:///x"] {
            assert!(bad.parse::<InstanceMetadata>().is_err(), "{bad}");
        }
    }

    #[test]
    fn only_firmware_that_names_amazon_is_ec2() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(!is_ec2(folder.path()));
        std::fs::write(folder.path().join("sys_vendor"), "QEMU\n").expect("written");
        assert!(!is_ec2(folder.path()));
        std::fs::write(folder.path().join("bios_version"), "4.11.amazon\n").expect("written");
        assert!(is_ec2(folder.path()));
    }
}
