//! Options that identify the sender of requests to the web.

use clap::{Args, ValueEnum};
use everytab_jobs::scan_settings::Internet;
use everytab_operations::site_identity;
use url::Url;

use crate::cli_error::CliError;

/// The network scope of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InternetOption {
    /// The public internet
    Public,
    /// A test network of the operator
    Small,
}

/// The sender of requests, and their network scope.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Who sends requests")]
pub struct IdentityArgs {
    /// Public address of the site, such as https://tabs.example/
    #[arg(long, env = "EVERYTAB_SITE_URL", value_name = "URL", value_parser = parse_site_url)]
    pub site_url: Option<String>,
    /// Contact for the owners of fetched sites: an email address or an https URL
    #[arg(long, env = "EVERYTAB_CONTACT", value_name = "ADDRESS", value_parser = parse_contact)]
    pub contact: Option<String>,
    /// Network scope of requests: the public internet, which requires --site-url and --contact, or
    /// a small test network, which limits connections to the addresses in --allow-range
    #[arg(long, env = "EVERYTAB_INTERNET", value_enum, default_value = "public")]
    pub internet: InternetOption,
}

impl IdentityArgs {
    /// Returns the network scope.
    pub fn internet(&self) -> Internet {
        match self.internet {
            InternetOption::Public => Internet::Public,
            InternetOption::Small => Internet::Small,
        }
    }

    /// Returns the User-Agent: `own` if given, otherwise one made from the site and the contact.
    /// `None` if the internet is small and no option is given.
    ///
    /// # Errors
    /// Returns an error if the internet is public and the User-Agent would name no valid contact.
    pub fn user_agent(&self, own: Option<&str>) -> Result<Option<String>, CliError> {
        let (site_url, contact) = (self.site_url.as_deref(), self.contact.as_deref());
        site_identity::of_process(self.internet(), own, site_url, contact)
    }
}

/// Parses an http or https URL and appends a missing slash.
pub fn parse_site_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text).map_err(|error| format!("{text:?} is not an address: {error}"))?;
    if !matches!(url.scheme(), "https" | "http") || url.query().is_some() {
        return Err(format!("{text:?} is not an address such as https://tabs.example/"));
    }
    let slash = if url.path().ends_with('/') { "" } else { "/" };
    Ok(format!("{url}{slash}"))
}

fn parse_contact(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._%+-".contains(c);
    let is_mail = text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && name.chars().chain(host.chars()).all(is_plain)
    });
    if is_mail || Url::parse(text).is_ok_and(|url| url.scheme() == "https") {
        return Ok(text.to_owned());
    }
    Err(format!("{text:?} is neither a mail address nor an https address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_pages_show_are_checked() {
        assert_eq!(parse_site_url("https://a.example").as_deref(), Ok("https://a.example/"));
        assert_eq!(parse_site_url("https://a.example/x").as_deref(), Ok("https://a.example/x/"));
        assert!(parse_site_url("javascript:alert(1)").is_err());
        assert!(
            parse_contact("me@a.example").is_ok() && parse_contact("https://a.example/w").is_ok()
        );
        for bad in ["me", "me@", "@a.example", "a b@c.example", "\"@c.example", "http://a.example"]
        {
            assert!(parse_contact(bad).is_err(), "{bad}");
        }
    }
}
