//! The robot's identity for sites, and which addresses it may request.

use std::net::IpAddr;

use everytab_webpage::address::Guard;
use http::HeaderValue;

use crate::settings::SettingsError;

/// The identity of the robot in its requests, and whether it is confined to `allow_ranges`.
#[derive(Clone, Debug)]
pub struct Robot {
    user_agent: HeaderValue,
    product: String,
    is_confined: bool,
}

impl Robot {
    /// Creates a robot that sends `user_agent` and may request the public internet.
    ///
    /// # Errors
    /// Returns an error if the user agent is not a valid header value.
    pub fn new(user_agent: &str) -> Result<Self, SettingsError> {
        let is_token = |c: char| c.is_ascii_alphabetic() || c == '-' || c == '_';
        let end = user_agent.find(|c| !is_token(c)).unwrap_or(user_agent.len());
        let product = user_agent[..end].to_owned();
        let user_agent = HeaderValue::from_str(user_agent).map_err(|_| SettingsError::UserAgent)?;
        Ok(Self { user_agent, product, is_confined: false })
    }

    /// Returns the same robot, confined to the addresses in
    /// [`FetchSettings::allow_ranges`](crate::FetchSettings::allow_ranges).
    #[must_use]
    pub fn confined(self) -> Self {
        Self { is_confined: true, ..self }
    }

    pub(crate) fn user_agent(&self) -> &HeaderValue {
        &self.user_agent
    }

    /// Returns the product token, which identifies the robot in robots.txt.
    pub fn product(&self) -> &str {
        &self.product
    }

    pub(crate) fn may_dial(&self, guard: &Guard, address: IpAddr) -> bool {
        !self.is_confined || guard.is_in_allow(address)
    }
}
