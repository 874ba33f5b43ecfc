//! The parameters of a database URL.
//!
//! A misspelt parameter is rejected, because otherwise the connection could be less protected than
//! the URL specifies.

/// `tokio-postgres` reads these parameters and rejects all others.
const OF_CLIENT: &str = "application_name channel_binding connect_timeout dbname host hostaddr \
    keepalives keepalives_idle keepalives_interval keepalives_retries load_balance_hosts options \
    password port sslnegotiation target_session_attrs tcp_user_timeout user";

/// Parameters that `database_url` reads, in addition to `options[NAME]`.
const OWN: &str = "sslmode ssl-mode sslrootcert ssl-root-cert ssl-ca sslcert ssl-cert sslkey \
    ssl-key";

/// Parameters of libpq and other clients that are ignored with a warning.
const IGNORED: &str = "client_encoding fallback_application_name gssdelegation gssencmode gsslib \
    krbsrvname sslcertmode sslcompression sslsni statement-cache-capacity";

/// Parameters of libpq that protect the connection or supply the password, and are not supported.
const UNSUPPORTED: &str = "passfile replication require_auth requirepeer service sslcrl sslcrldir \
    sslkeylogfile sslpassword ssl_max_protocol_version ssl_min_protocol_version";

/// Maximum edit distance between a misspelt parameter and the suggested name.
const MAX_EDITS: usize = 3;

pub(super) fn is_clients(name: &str) -> bool {
    is_in(OF_CLIENT, name)
}

/// Checks a parameter that `tokio-postgres` does not read. The error says why it is rejected.
pub(super) fn check(name: &str) -> Result<(), String> {
    if is_in(OWN, name) {
        return Ok(());
    }
    if is_in(IGNORED, name) {
        tracing::warn!("the parameter {name} of the database URL has no effect and is ignored");
        return Ok(());
    }
    if is_in(UNSUPPORTED, name) {
        return Err(format!("the parameter {name} is not supported; leave it out"));
    }
    Err(match nearest(name) {
        Some(near) => format!("the parameter {name} is unknown; did you mean {near}?"),
        None => format!("the parameter {name} is unknown; leave it out"),
    })
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

fn nearest(name: &str) -> Option<&'static str> {
    let known = OF_CLIENT.split_whitespace().chain(OWN.split_whitespace());
    let (distance, near) = known.map(|known| (edits(name, known), known)).min()?;
    (distance <= MAX_EDITS && distance * 2 < name.len()).then_some(near)
}

fn edits(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (removed, from) in from.chars().enumerate() {
        let mut left = removed + 1;
        let mut next = vec![left];
        for ((to, above), diagonal) in to.chars().zip(row.iter().skip(1)).zip(&row) {
            left = (diagonal + usize::from(from != to)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_inserted_removed_and_replaced_characters() {
        for (from, to, distance) in [
            ("sslrotcert", "sslrootcert", 1),
            ("sslmodes", "sslmode", 1),
            ("sslmade", "sslmode", 1),
            ("", "port", 4),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(from, to), distance, "{from} {to}");
            assert_eq!(edits(to, from), distance, "{to} {from}");
        }
    }
}
