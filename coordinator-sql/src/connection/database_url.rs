//! Parses the database URL, including the parameters that `tokio-postgres` does not read, and
//! libpq's environment variables (<https://www.postgresql.org/docs/current/libpq-connect.html>).

use std::{env, net::IpAddr, path::Path, str::FromStr as _, time::Duration};

use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};
use url::form_urlencoded;

use crate::{
    connection::url_parameters,
    error::{Error, describe},
};

/// Directories in which packaged servers create their socket.
const SOCKET_FOLDERS: [&str; 3] = ["/var/run/postgresql", "/private/tmp", "/tmp"];

/// Idle time after which a keepalive is sent. AWS drops connections after 350 s of idle time, and
/// terraform/ sets 120 s.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
/// Time between keepalives that are not answered.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// Number of unanswered keepalives after which the connection counts as broken.
const KEEPALIVE_TRIES: u32 = 3;

/// How connections to a database URL are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// The connections do not leave this host.
    Local,
    /// The server's certificate is verified for its hostname.
    Verified,
    /// No TLS, or a certificate that is not verified for the hostname.
    Unverified,
}

/// Returns how connections to this URL are protected.
///
/// # Errors
/// Returns [`Error::Url`] if the URL cannot be parsed.
pub fn transport(url: &str) -> Result<Transport, Error> {
    let DatabaseUrl { config, tls, .. } = DatabaseUrl::parse(url)?;
    Ok(match tls.verification {
        _ if is_local(&config) => Transport::Local,
        TlsVerification::Hostname => Transport::Verified,
        TlsVerification::None | TlsVerification::Authority => Transport::Unverified,
    })
}

#[derive(Debug)]
pub(super) struct DatabaseUrl {
    pub(super) config: Config,
    pub(super) tls: TlsSettings,
    /// The source of the password in `config`, for messages.
    pub(super) password_source: Option<&'static str>,
}

/// How a server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TlsVerification {
    /// No verification: sslmode `disable`, `allow`, `prefer` and `require`.
    #[default]
    None,
    /// A trusted authority must have signed it: sslmode `verify-ca`.
    Authority,
    /// A trusted authority must have signed it for this hostname: sslmode `verify-full`.
    Hostname,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TlsSettings {
    pub(super) verification: TlsVerification,
    /// PEM file with trusted authorities, in addition to the system's.
    pub(super) root_certificates: Option<String>,
    /// PEM file with our own certificate.
    pub(super) client_certificate: Option<String>,
    /// PEM file with our certificate's key.
    pub(super) client_key: Option<String>,
}

impl DatabaseUrl {
    /// Reads what the URL does not contain from libpq's environment variables. Returns
    /// [`Error::Url`], without the password, if the URL is invalid.
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let refuse = |reason: String| Error::url(url, reason);
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(refuse("the scheme is not postgres".into()));
        }
        let (url, parameters) = take_own_parameters(url);
        let mut config = Config::from_str(&url).map_err(|error| refuse(describe(&error)))?;
        let named = |names: &[&str], variable: &str| {
            let found = parameters.iter().rev().find(|(name, _)| names.contains(&name.as_str()));
            found.map(|(_, value)| value.clone()).or_else(|| variable_of(variable))
        };
        apply_own_parameters(&mut config, &parameters).map_err(refuse)?;
        let is_in_url = config.get_password().is_some();
        apply_environment(&mut config).map_err(refuse)?;
        let password_source = match config.get_password() {
            Some(_) if is_in_url => Some("the database URL (DATABASE_URL or --database-url)"),
            Some(_) => Some("PGPASSWORD"),
            None => None,
        };
        apply_keepalives(&mut config, &url);
        let mode = named(&["sslmode", "ssl-mode"], "PGSSLMODE");
        let usual = if is_local(&config) { "prefer" } else { "verify-full" };
        let (ssl_mode, verification) =
            ssl_mode(mode.as_deref().unwrap_or(usual)).map_err(refuse)?;
        config.ssl_mode(ssl_mode);
        let tls = TlsSettings {
            verification,
            root_certificates: named(&["sslrootcert", "ssl-root-cert", "ssl-ca"], "PGSSLROOTCERT"),
            client_certificate: named(&["sslcert", "ssl-cert"], "PGSSLCERT"),
            client_key: named(&["sslkey", "ssl-key"], "PGSSLKEY"),
        };
        Ok(Self { config, tls, password_source })
    }
}

fn take_own_parameters(url: &str) -> (String, Vec<(String, String)>) {
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), Vec::new()) };
    let is_theirs = |pair: &&str| url_parameters::is_clients(pair.split('=').next().unwrap_or(""));
    let (theirs, own): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_theirs);
    let own = form_urlencoded::parse(own.join("&").as_bytes()).into_owned().collect();
    let url = if theirs.is_empty() { base.into() } else { format!("{base}?{}", theirs.join("&")) };
    (url, own)
}

/// `options[NAME]=VALUE` means `-c NAME=VALUE` in `options`.
fn apply_own_parameters(
    config: &mut Config,
    parameters: &[(String, String)],
) -> Result<(), String> {
    for (name, value) in parameters {
        let setting = name.strip_prefix("options[").and_then(|name| name.strip_suffix(']'));
        if let Some(setting) = setting {
            let before = config.get_options().map(|options| format!("{options} "));
            let value = value.replace('\\', r"\\").replace(' ', r"\ ");
            config.options(format!("{}-c {setting}={value}", before.unwrap_or_default()));
        } else {
            url_parameters::check(name)?;
        }
    }
    Ok(())
}

/// Returns whether all servers are on this host, so that no other host can read or change the
/// traffic.
fn is_local(config: &Config) -> bool {
    let is_loopback = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    };
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(is_loopback),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

fn apply_keepalives(config: &mut Config, url: &str) {
    if !url.contains("keepalives_idle=") {
        config.keepalives_idle(KEEPALIVE_IDLE);
    }
    if !url.contains("keepalives_interval=") {
        config.keepalives_interval(KEEPALIVE_INTERVAL);
    }
    if !url.contains("keepalives_retries=") {
        config.keepalives_retries(KEEPALIVE_TRIES);
    }
}

fn ssl_mode(mode: &str) -> Result<(SslMode, TlsVerification), String> {
    match mode {
        "disable" | "allow" => Ok((SslMode::Disable, TlsVerification::None)),
        "prefer" => Ok((SslMode::Prefer, TlsVerification::None)),
        "require" => Ok((SslMode::Require, TlsVerification::None)),
        "verify-ca" => Ok((SslMode::Require, TlsVerification::Authority)),
        "verify-full" => Ok((SslMode::Require, TlsVerification::Hostname)),
        other => Err(format!(
            "sslmode {other} is not valid; use disable, allow, prefer, require, verify-ca or \
             verify-full"
        )),
    }
}

fn apply_environment(config: &mut Config) -> Result<(), String> {
    if config.get_ports().is_empty()
        && let Some(port) = variable_of("PGPORT")
    {
        config.port(port.parse().map_err(|_| format!("PGPORT {port} is not a port"))?);
    }
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let host = variable_of("PGHOSTADDR").or_else(|| variable_of("PGHOST"));
        config.host(host.unwrap_or_else(|| default_host(port)));
    }
    if config.get_user().is_none() {
        let user = variable_of("PGUSER").or_else(|| whoami::username().ok());
        config.user(user.unwrap_or_else(|| "unknown".into()));
    }
    if config.get_password().is_none()
        && let Some(password) = variable_of("PGPASSWORD")
    {
        config.password(password);
    }
    if config.get_dbname().is_none()
        && let Some(database) = variable_of("PGDATABASE")
    {
        config.dbname(database);
    }
    if config.get_options().is_none()
        && let Some(options) = variable_of("PGOPTIONS")
    {
        config.options(options);
    }
    Ok(())
}

fn default_host(port: u16) -> String {
    let socket = format!(".s.PGSQL.{port}");
    let folder = SOCKET_FOLDERS.into_iter().find(|folder| Path::new(folder).join(&socket).exists());
    folder.unwrap_or("localhost").to_owned()
}

fn variable_of(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_socket_and_its_port_come_from_parameters() {
        let url = "postgres:///data%20base?host=%2Frun%2Fpg&port=6543&user=me&sslmode=disable";
        let DatabaseUrl { config, tls, .. } = DatabaseUrl::parse(url).unwrap();
        assert_eq!(config.get_hosts(), [Host::Unix(PathBuf::from("/run/pg"))]);
        assert_eq!(config.get_ports(), [6543]);
        assert_eq!((config.get_user(), config.get_dbname()), (Some("me"), Some("data base")));
        assert_eq!(config.get_ssl_mode(), SslMode::Disable);
        assert_eq!(tls, TlsSettings::default());
    }

    #[test]
    fn verification_and_authorities_are_read_from_the_url() {
        let url = "postgres://u:p%40ss@db.example:1/d?sslmode=verify-full&application_name=x\
                   &sslrootcert=/etc/ca%20file.pem";
        let DatabaseUrl { config, tls, .. } = DatabaseUrl::parse(url).unwrap();
        assert_eq!(config.get_password(), Some(&b"p@ss"[..]));
        assert_eq!(config.get_ssl_mode(), SslMode::Require);
        assert_eq!(tls.verification, TlsVerification::Hostname);
        assert_eq!(tls.root_certificates.as_deref(), Some("/etc/ca file.pem"));
    }

    #[test]
    fn a_server_of_another_machine_is_verified_unless_the_url_says_otherwise() {
        for (url, expected) in [
            ("postgres://u@db.example/d", Transport::Verified),
            ("postgres://u@192.0.2.1/d", Transport::Verified),
            ("postgres://u@localhost,db.example/d", Transport::Verified),
            ("postgres://u@localhost/d?hostaddr=192.0.2.1", Transport::Verified),
            ("postgres://u@db.example/d?sslmode=require", Transport::Unverified),
            ("postgres://u@db.example/d?sslmode=verify-ca", Transport::Unverified),
            ("postgres://u@db.example/d?sslmode=disable", Transport::Unverified),
            ("postgres://u@localhost/d", Transport::Local),
            ("postgres://u@127.0.0.2/d", Transport::Local),
            ("postgres://u@[::1]/d", Transport::Local),
            ("postgres:///d?host=/run/pg", Transport::Local),
        ] {
            assert_eq!(transport(url).unwrap(), expected, "{url}");
        }
        let DatabaseUrl { config, .. } = DatabaseUrl::parse("postgres://u@db.example/d").unwrap();
        assert_eq!(config.get_ssl_mode(), SslMode::Require);
        let local = DatabaseUrl::parse("postgres://u@127.0.0.1/d").unwrap().config;
        assert_eq!(local.get_ssl_mode(), SslMode::Prefer);
    }

    #[test]
    fn an_idle_connection_is_tried_before_a_firewall_forgets_it() {
        let config = DatabaseUrl::parse("postgres://u@db.example/d").unwrap().config;
        assert!(config.get_keepalives());
        assert_eq!(config.get_keepalives_idle(), KEEPALIVE_IDLE);
        assert_eq!(config.get_keepalives_interval(), Some(KEEPALIVE_INTERVAL));
        let own = "postgres://u@db.example/d?keepalives_idle=7";
        let config = DatabaseUrl::parse(own).unwrap().config;
        assert_eq!(config.get_keepalives_idle(), Duration::from_secs(7));
    }

    #[test]
    fn settings_of_the_session_are_read_and_what_nobody_knows_is_ignored() {
        let url = "postgres://h/d?gssencmode=disable&options=-c%20a%3D1\
                   &options[search_path]=b%20c&options%5Bwork_mem%5D=1MB";
        let DatabaseUrl { config, .. } = DatabaseUrl::parse(url).unwrap();
        assert_eq!(config.get_options(), Some(r"-c a=1 -c search_path=b\ c -c work_mem=1MB"));
    }

    #[test]
    fn a_parameter_that_would_be_ignored_is_refused_with_the_nearest_name() {
        for (parameter, expected) in [
            (
                "sslrotcert=/ca.pem",
                "the parameter sslrotcert is unknown; did you mean sslrootcert?",
            ),
            ("sslmod=disable", "did you mean sslmode?"),
            ("aplication_name=x", "did you mean application_name?"),
            ("sslcrl=/crl.pem", "the parameter sslcrl is not supported; leave it out"),
            ("favourite_colour=red", "the parameter favourite_colour is unknown; leave it out"),
            ("x=1", "the parameter x is unknown; leave it out"),
        ] {
            let url = format!("postgres://u@localhost/d?{parameter}");
            let text = DatabaseUrl::parse(&url).unwrap_err().to_string();
            assert!(text.contains(expected), "{text}");
        }
        for known in ["sslmode=disable", "ssl-ca=/ca.pem", "gssencmode=disable", "port=1"] {
            DatabaseUrl::parse(&format!("postgres://u@localhost/d?{known}")).unwrap();
        }
    }

    #[test]
    fn a_refused_url_is_shown_without_its_password() {
        for url in ["mysql://me:secret@h/d", "postgres://me:secret@h/d?sslmode=often"] {
            let text = DatabaseUrl::parse(url).unwrap_err().to_string();
            assert!(!text.contains("secret") && text.contains("me:...@h"), "{text}");
        }
    }
}
