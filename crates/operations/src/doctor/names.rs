//! Checks that the resolver knows names that must exist, and invents none.

use everytab_fetcher::Fetcher;

use super::check::Check;

/// Checks the resolver `who` as a worker does before each shard of icons.
pub(super) async fn known(fetcher: &Fetcher, who: &str) -> Check {
    const NAME: &str = "known names";
    let names = fetcher.known_names().join(", ");
    match fetcher.check_network().await {
        Ok(()) => Check::ok(
            NAME,
            format!("{who} resolves {names}, and returns NXDOMAIN for a made-up name"),
        ),
        Err(trouble) => Check::fail(
            NAME,
            format!("{who}: {}", fetcher.resolver_fault().unwrap_or_else(|| trouble.to_string())),
            "use a resolver that does not filter (--dns ADDR:PORT, or /etc/resolv.conf); icons \
             wait for it. If it is right, give other --known-names",
        ),
    }
}
