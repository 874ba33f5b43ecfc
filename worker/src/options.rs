//! Options that several commands share, and the format of durations.

mod identity;
mod quantities;
mod scan_options;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use everytab_commoncrawl::canonical_hostname;
use everytab_coordinator::JobKind;
use everytab_fetcher::{FetchSettings, Fetcher, KNOWN_NAMES, SettingsError, SigningKey};
#[cfg(feature = "local")]
use everytab_local::SampleNetwork;
use everytab_webpage::PortList;
use ipnet::IpNet;

pub(crate) use self::quantities::{Bytes, parse_bytes, parse_time, whole_seconds};
pub use self::{
    identity::{IdentityArgs, InternetOption, parse_site_url},
    scan_options::{RobotsOption, ScanOptionArgs, parse_distribution, parse_duration},
};
use crate::cli_error::CliError;

/// Option that selects the database.
#[derive(Debug, Clone, Args)]
pub struct DatabaseArgs {
    /// URL of the Postgres database, such as postgres://user@host/database
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
}

/// The jobs that a process takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// All jobs of scans, and the indexes of live crawls
    All,
    /// index
    Index,
    /// warc
    Warc,
    /// icon
    Icons,
    /// bundle-shard, search and map
    Bundles,
    /// publish
    Publish,
    /// Live crawls, and the indexes of ended ones (jobs crawl-index and crawl-close). The role all
    /// includes only the indexes
    Crawl,
    /// The HTTP service, which takes no jobs; the role all does not include it
    Api,
}

impl Role {
    /// Returns these roles' job kinds, in pipeline order.
    pub fn kinds(roles: &[Self]) -> Vec<JobKind> {
        let takes = |kind| roles.contains(&Self::All) || roles.contains(&Self::with_kind(kind));
        JobKind::ALL.into_iter().filter(|kind| takes(*kind)).collect()
    }

    const fn with_kind(kind: JobKind) -> Self {
        match kind {
            JobKind::Index => Self::Index,
            JobKind::Warc => Self::Warc,
            JobKind::Icon => Self::Icons,
            JobKind::BundleShard | JobKind::Search | JobKind::Map => Self::Bundles,
            JobKind::Publish => Self::Publish,
            JobKind::CrawlIndex | JobKind::CrawlClose => Self::Crawl,
        }
    }
}

/// Options for requests to the web.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Fetching")]
pub struct FetchArgs {
    /// Maximum number of requests in flight
    #[arg(long, env = "EVERYTAB_IN_FLIGHT", default_value_t = 512)]
    pub in_flight: usize,
    /// User-Agent of live crawls, instead of one made from --site-url and --contact; also for scans
    /// with --internet small
    #[arg(long, env = "EVERYTAB_USER_AGENT")]
    pub user_agent: Option<String>,
    /// File with the key that signs requests, so that sites recognise them (see `signing-key`). If
    /// the file is empty, requests are not signed
    #[arg(long, env = "EVERYTAB_SIGNING_KEY", value_name = "FILE")]
    pub signing_key: Option<PathBuf>,
    /// DNS server to use instead of the system's
    #[arg(long, env = "EVERYTAB_DNS", value_name = "ADDR:PORT")]
    pub dns: Option<SocketAddr>,
    /// Hostnames that must resolve to public addresses. Fetching pauses while the DNS server denies
    /// that one of them exists, or resolves a made-up name
    #[arg(
        long = "known-names",
        env = "EVERYTAB_KNOWN_NAMES",
        value_name = "HOST,...",
        value_delimiter = ',',
        value_parser = parse_known_name,
        default_values = KNOWN_NAMES
    )]
    pub known_names: Vec<String>,
    /// File with additional certificate authorities to trust (PEM)
    #[arg(long, env = "EVERYTAB_CA_FILE", value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Address range from which fetching is allowed although it is not public
    #[arg(
        long = "allow-range",
        env = "EVERYTAB_ALLOW_RANGE",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    pub allow_ranges: Vec<IpNet>,
    /// Address range from which fetching is denied although it is public
    #[arg(
        long = "deny-range",
        env = "EVERYTAB_DENY_RANGE",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    pub deny_ranges: Vec<IpNet>,
    /// Ports of URLs that may be fetched; the Fetch standard's bad ports are always denied
    #[arg(long, env = "EVERYTAB_PORTS", value_name = "PORT,...", default_value_t)]
    pub ports: PortList,
    /// Connect to another port than a URL's, such as 80=18080
    #[arg(long = "dial-port", env = "EVERYTAB_DIAL_PORT", value_name = "PORT=PORT",
          value_delimiter = ',', value_parser = parse_port_pair)]
    pub dial_ports: Vec<(u16, u16)>,
    /// Whether to cache DNS results and unreachable endpoints; turn this off only for diagnosis
    #[arg(long, env = "EVERYTAB_REMEMBER", value_enum, default_value = "on", hide = true)]
    pub remember: Remember,
    /// Whether the fetcher connects only to addresses in --allow-range. [`Self::arguments`] omits
    /// it, because `--internet small` sets it.
    #[arg(skip)]
    pub is_confined: bool,
}

/// Whether the fetcher caches DNS results and unreachable endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Remember {
    /// Cache them
    On,
    /// Cache nothing
    Off,
}

fn parse_port_pair(text: &str) -> Result<(u16, u16), String> {
    let pair = text
        .split_once('=')
        .and_then(|(from, to)| Some((from.trim().parse().ok()?, to.trim().parse().ok()?)));
    pair.ok_or_else(|| format!("{text:?} is not valid; expected PORT=PORT, such as 80=18080"))
}

fn parse_known_name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        let reason = "a name is missing. Without names, wrong DNS responses would erase icons: \
                      omit the option, or give hostnames that must exist";
        return Err(reason.to_owned());
    }
    let name = canonical_hostname(text.trim())
        .map_err(|error| format!("{error}; give a hostname that must exist"))?;
    match name.address {
        Some(_) => Err("an address is not looked up: give a hostname".to_owned()),
        None => Ok(name.text.into_owned()),
    }
}

impl FetchArgs {
    /// Returns the fetcher's settings.
    ///
    /// # Errors
    /// Returns an error if the signing key's file cannot be read or contains no valid key.
    pub fn settings(&self) -> Result<FetchSettings, CliError> {
        // Name every option, so that the compiler reports a forgotten one.
        let Self {
            in_flight,
            user_agent,
            signing_key,
            dns,
            known_names,
            ca_file,
            allow_ranges,
            deny_ranges,
            ports,
            dial_ports,
            remember,
            is_confined,
        } = self.clone();
        let defaults = FetchSettings::default();
        let signing_key = signing_key.as_deref().map(read_signing_key).transpose()?.flatten();
        Ok(FetchSettings {
            dns,
            known_names,
            ca_file,
            allow_ranges,
            deny_ranges,
            ports,
            dial_ports: dial_ports.into_iter().collect::<BTreeMap<_, _>>(),
            in_flight: in_flight.max(1),
            user_agent: user_agent.unwrap_or(defaults.user_agent.clone()),
            signing_key: signing_key.map(Arc::new),
            remembers: remember == Remember::On,
            is_confined,
            ..defaults
        })
    }

    /// Returns a fetcher with these settings. `own_ranges` are the addresses of the operator's
    /// services.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid, or if a file that it names cannot be read.
    pub fn fetcher(&self, own_ranges: Vec<IpNet>) -> Result<Fetcher, CliError> {
        Fetcher::new(FetchSettings { own_ranges, ..self.settings()? }).map_err(
            |error| match error {
                SettingsError::CaFile(reason) => CliError::usage(format!("--ca-file {reason}")),
                other => CliError::usage(other.to_string()),
            },
        )
    }

    /// Warns about settings that are unsafe on the open internet.
    pub fn warn(&self) {
        for range in &self.allow_ranges {
            tracing::warn!(%range, "--allow-range: addresses that are not public may be fetched");
        }
        for (from, to) in &self.dial_ports {
            tracing::warn!("--dial-port: connections to port {from} go to port {to} instead");
        }
        if let Some(file) = &self.ca_file {
            tracing::warn!(file = %file.display(), "--ca-file: additional CAs are trusted");
        }
    }

    /// Makes the fetcher use a sample's small internet instead of the real one.
    #[cfg(feature = "local")]
    pub fn use_network(&mut self, network: SampleNetwork) {
        self.dns = Some(network.dns);
        self.ca_file = Some(network.ca_file);
        self.dial_ports = network.dial_ports.into_iter().collect();
        self.allow_ranges.extend(network.allow_ranges);
    }

    /// Returns these options as arguments for another process.
    pub fn arguments(&self) -> Vec<String> {
        let Self {
            in_flight,
            user_agent,
            signing_key,
            dns,
            known_names,
            ca_file,
            allow_ranges,
            deny_ranges,
            ports,
            dial_ports,
            remember,
            is_confined: _,
        } = self;
        let mut arguments = vec!["--in-flight".to_owned(), in_flight.to_string()];
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                arguments.extend([name.to_owned(), value]);
            }
        };
        add("--user-agent", user_agent.clone());
        add("--signing-key", signing_key.as_ref().map(|file| file.display().to_string()));
        add("--dns", dns.map(|address| address.to_string()));
        add("--known-names", Some(known_names.join(",")));
        add("--ca-file", ca_file.as_ref().map(|file| file.display().to_string()));
        add("--remember", (*remember == Remember::Off).then(|| "off".to_owned()));
        for range in allow_ranges {
            add("--allow-range", Some(range.to_string()));
        }
        for range in deny_ranges {
            add("--deny-range", Some(range.to_string()));
        }
        add("--ports", Some(ports.to_string()));
        for (from, to) in dial_ports {
            add("--dial-port", Some(format!("{from}={to}")));
        }
        arguments
    }
}

/// Reads a signing key. `None` if the file is empty. The key is not an argument or a variable,
/// because other programs can see command lines and environments.
///
/// # Errors
/// Returns an error if the file cannot be read or contains no valid key.
pub fn read_signing_key(file: &Path) -> Result<Option<SigningKey>, CliError> {
    let shown = file.display();
    let wrong = |error: String| CliError::usage(format!("--signing-key {shown}: {error}"));
    let text = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    if text.trim_ascii().is_empty() {
        tracing::warn!("--signing-key {shown}: is empty; requests are not signed");
        return Ok(None);
    }
    if std::fs::metadata(file).is_ok_and(|metadata| metadata.mode() & 0o077 != 0) {
        tracing::warn!(
            "--signing-key {shown}: other users can read this file; run `chmod 600` on it"
        );
    }
    SigningKey::from_pem(&text).map(Some).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches as _};

    use super::*;

    fn another_value(option: &str) -> &'static str {
        match option {
            "in-flight" => "7",
            "user-agent" => "SomeBot/1.0 (+https://bot.example/)",
            "signing-key" => "key.pem",
            "dns" => "127.0.0.1:5353",
            "known-names" => "a.example,b.example",
            "ca-file" => "roots.pem",
            "allow-range" => "10.0.0.0/8,fd00::/8",
            "deny-range" => "192.0.2.0/24,2001:db8::/32",
            "ports" => "80,443,8000",
            "dial-port" => "80=18080,443=18443",
            "remember" => "off",
            other => panic!("--{other} is new: give it a value here that is not its default"),
        }
    }

    fn parsed(command: &Command, arguments: &[String]) -> FetchArgs {
        let name = ["everytab-worker".to_owned()];
        let matches = command.clone().get_matches_from(name.iter().chain(arguments));
        FetchArgs::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn arguments_pass_on_every_fetch_option() {
        let command = FetchArgs::augment_args(Command::new("everytab-worker"));
        let options = command.get_arguments().filter_map(|argument| argument.get_long());
        let given: Vec<String> = options
            .flat_map(|option| [format!("--{option}"), another_value(option).to_owned()])
            .collect();
        let args = parsed(&command, &given);
        for option in given.iter().filter(|text| text.starts_with("--")) {
            assert!(args.arguments().contains(option), "{option} is not passed on");
        }
        assert_eq!(format!("{:?}", parsed(&command, &args.arguments())), format!("{args:?}"));
    }

    #[test]
    fn known_names_must_be_hostnames_and_there_must_be_at_least_one() {
        let command = FetchArgs::augment_args(Command::new("everytab-worker"));
        let parse = |names: &str| {
            let arguments = ["everytab-worker", "--known-names", names];
            let matches = command.clone().try_get_matches_from(arguments);
            let matches = matches.map_err(|error| error.to_string())?;
            Ok(FetchArgs::from_arg_matches(&matches).unwrap().known_names)
        };
        let names = |names: &[&str]| Ok(names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(parsed(&command, &[]).known_names, KNOWN_NAMES);
        assert_eq!(
            parse("One.example, bücher.example."),
            names(&["one.example", "xn--bcher-kva.example"])
        );
        for (wrong, reason) in [
            ("", "a name is missing"),
            ("one.example,", "a name is missing"),
            ("192.0.2.1", "give a hostname"),
            ("localhost", "does not belong to the public internet"),
            ("a b.example", "give a hostname that must exist"),
        ] {
            let refused: Result<Vec<String>, String> = parse(wrong);
            let refused = refused.expect_err(wrong);
            assert!(refused.contains(reason) && refused.contains("--known-names"), "{refused}");
        }
    }

    #[test]
    fn each_kind_belongs_to_one_role_and_all_takes_every_kind() {
        assert_eq!(Role::kinds(&[Role::All]), JobKind::ALL);
        let bundles = [JobKind::BundleShard, JobKind::Search, JobKind::Map];
        assert_eq!(Role::kinds(&[Role::Bundles]), bundles);
        assert_eq!(Role::kinds(&[Role::Icons, Role::Index]), [JobKind::Index, JobKind::Icon]);
        assert_eq!(Role::kinds(&[Role::Crawl]), JobKind::OF_CRAWLS);
    }
}
