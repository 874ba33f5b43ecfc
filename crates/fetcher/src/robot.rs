//! The robot as sites see it, and the internet that it may ask.
//!
//! Must not know: who chose its name.

use std::net::IpAddr;

use everytab_webpage::address::Guard;
use http::HeaderValue;

use crate::settings::SettingsError;

/// As whom requests are made, and of which addresses.
#[derive(Clone, Debug)]
pub struct Robot {
    user_agent: HeaderValue,
    product: String,
    is_confined: bool,
}

impl Robot {
    /// A robot that sends `user_agent` and may ask the public internet.
    ///
    /// # Errors
    /// When no header can carry the name.
    pub fn new(user_agent: &str) -> Result<Self, SettingsError> {
        let is_token = |c: char| c.is_ascii_alphabetic() || c == '-' || c == '_';
        let end = user_agent.find(|c| !is_token(c)).unwrap_or(user_agent.len());
        let product = user_agent[..end].to_owned();
        let user_agent = HeaderValue::from_str(user_agent).map_err(|_| SettingsError::UserAgent)?;
        Ok(Self { user_agent, product, is_confined: false })
    }

    /// The same robot, which asks only the addresses that the settings allow although they are not
    /// public: nothing else belongs to a small internet.
    #[must_use]
    pub fn confined(self) -> Self {
        Self { is_confined: true, ..self }
    }

    /// The value of `User-Agent`.
    pub(crate) fn user_agent(&self) -> &HeaderValue {
        &self.user_agent
    }

    /// The product token, by which robots.txt names the robot.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// Whether the robot may ask an address that `guard` allows.
    pub(crate) fn may_ask(&self, guard: &Guard, address: IpAddr) -> bool {
        !self.is_confined || guard.is_in_allow(address)
    }
}
