//! Connects to the database in `--database-url` or `DATABASE_URL`.

use everytab_coordinator::Coordinator;
use everytab_operations::database;
use ipnet::IpNet;
use url::Url;

use crate::{cli_error::CliError, options::DatabaseArgs};

/// Returns the database's URL.
///
/// # Errors
/// Returns an error if no URL is given.
pub fn url(args: &DatabaseArgs) -> Result<&str, CliError> {
    args.database_url.as_deref().filter(|url| !url.is_empty()).ok_or_else(|| {
        CliError::usage(
            "no database: give --database-url or set DATABASE_URL (or use `everytab-worker local`, \
             which brings its own)",
        )
    })
}

/// Returns the addresses of the database's servers, so that the fetcher does not connect to them.
/// Logs a warning for a name that cannot be resolved.
pub async fn own_ranges(url: &str) -> Vec<IpNet> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    let in_query = url.query_pairs().find(|(name, _)| name == "host" || name == "hostaddr");
    let hosts = match (&in_query, url.host_str()) {
        (Some((_, hosts)), _) => hosts.clone().into_owned(),
        (None, host) => host.unwrap_or_default().to_owned(),
    };
    let mut ranges = Vec::new();
    for host in hosts.split(',').filter(|host| !host.is_empty() && !is_socket(host)) {
        let host = host.trim_matches(['[', ']']);
        match tokio::net::lookup_host((host, 5432)).await {
            Ok(found) => ranges.extend(found.map(|address| IpNet::from(address.ip()))),
            Err(error) => tracing::warn!(
                "{host}: {error}; --deny-range keeps the fetcher off the database's address"
            ),
        }
    }
    ranges
}

/// Returns whether a host is a socket's directory, possibly percent-encoded.
fn is_socket(host: &str) -> bool {
    host.starts_with('/') || host.starts_with("%2F") || host.starts_with("%2f")
}

/// Connects to the database and checks its schema.
///
/// # Errors
/// Returns an error if no URL is given, if the database is unreachable, or if its schema is not
/// this program's.
pub async fn connect(args: &DatabaseArgs) -> Result<Coordinator, CliError> {
    database::connect(url(args)?).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn own_ranges_are_the_addresses_of_the_databases_servers() {
        for (url, expected) in [
            ("postgres://me@127.0.0.1:6432/x?sslmode=disable", "127.0.0.1/32"),
            ("postgres://me@[::1]/x", "::1/128"),
            ("postgres:///x?host=127.0.0.2,127.0.0.3", "127.0.0.2/32 127.0.0.3/32"),
            ("postgres:///x?host=%2Ftmp%2Fsocket&user=me", ""),
            ("postgres://me@%2Ftmp%2Fsocket/x", ""),
            ("nothing", ""),
        ] {
            let found: Vec<String> = own_ranges(url).await.iter().map(IpNet::to_string).collect();
            assert_eq!(found.join(" "), expected, "{url}");
        }
    }
}
