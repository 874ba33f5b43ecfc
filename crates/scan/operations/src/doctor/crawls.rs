//! Checks live crawls: slots, links, stores, the clock, and whether site owners can reach the
//! operator.

use chrono::{DateTime, TimeDelta, Utc};
use everytab_coordinator::{ConnectSettings, Coordinator, FrontierHealth};

use super::{check::Check, role_needs::RoleNeeds, stores};
use crate::site_identity;

/// Maximum difference between this host's clock and the server's, because host delays depend on
/// both.
const MAX_CLOCK_DIFFERENCE: TimeDelta = TimeDelta::seconds(2);
/// The check fails if any unread links are older than this. Normally, links are read within
/// seconds.
const OLDEST_LINKS: TimeDelta = TimeDelta::hours(4);
/// Stores beyond this number are not checked.
const STORES_TRIED: usize = 16;

const DENIED: &str = "42501";

/// Checks what live crawls need, if any is open. `needs` is `None` for an operator.
pub async fn check(url: &str, user_agent: &str, needs: Option<&RoleNeeds>) -> Vec<Check> {
    let Ok(coordinator) = Coordinator::connect(url, &ConnectSettings::default()).await else {
        return Vec::new();
    };
    if coordinator.check_schema().await.is_err() {
        return Vec::new();
    }
    let before = Utc::now();
    let health = coordinator.frontier_health().await;
    let now = before + (Utc::now() - before) / 2;
    coordinator.close().await;
    match health {
        Err(error) => {
            let remedy = match error.sqlstate() {
                Some(DENIED) => {
                    "sign in as everytab_worker or the owner, or name the roles of this machine's \
                     worker with --role"
                }
                _ => "see the server's log",
            };
            vec![Check::fail("live crawls", error.to_string(), remedy)]
        }
        Ok(health) => {
            let mut checks = checks_of(&health, now, user_agent, needs);
            for store in health.stores.iter().take(STORES_TRIED) {
                checks.push(stores::crawl_store(store, needs.is_some()).await);
            }
            checks
        }
    }
}

/// The fleet is checked only for an operator, for whom `needs` is `None`.
fn checks_of(
    health: &FrontierHealth,
    now: DateTime<Utc>,
    user_agent: &str,
    needs: Option<&RoleNeeds>,
) -> Vec<Check> {
    let FrontierHealth { open_crawls, running_crawls, .. } = health;
    let mut checks = vec![if health.is_of_another_server {
        Check::fail(
            "live crawls",
            "the rows were copied from another server, whose transaction ids differ",
            "stop the workers of role crawl, and run `select coordinator.begin_epoch()` as the \
             owner; `restore` does so by itself",
        )
    } else if *open_crawls == 0 {
        Check::ok("live crawls", "none is open")
    } else {
        Check::ok("live crawls", format!("{open_crawls} open, {running_crawls} running"))
    }];
    if *open_crawls > 0 {
        if needs.is_none() {
            checks.push(workers(health));
            checks.push(slots(health));
            checks.push(links(health));
        }
        checks.push(clock(health.server_time, now));
        if needs.is_none_or(|needs| needs.is_crawler) {
            checks.push(contact(user_agent));
        }
    }
    checks
}

fn workers(health: &FrontierHealth) -> Check {
    match health.live_workers {
        0 if health.running_crawls > 0 => Check::fail(
            "crawl workers",
            "no worker was seen lately",
            "start `everytab-worker --role crawl`",
        ),
        workers => Check::ok("crawl workers", format!("{workers} seen lately")),
    }
}

fn slots(health: &FrontierHealth) -> Check {
    let FrontierHealth { slots, held_slots, suspect_slots, isolated_slots, .. } = health;
    let found = format!(
        "{held_slots} of {slots} held{}{}",
        listed("lost several workers in a row", suspect_slots),
        listed("fetch one URL at a time", isolated_slots)
    );
    if !suspect_slots.is_empty() {
        let remedy = "a site in such a slot may crash its worker: check the workers' logs for \
                      memory and crashes; workers retry a few of these slots at a time, so wait \
                      some minutes, or start more workers";
        return Check::fail("slots", found, remedy);
    }
    let is_short = health.running_crawls > 0 && health.live_workers > 0 && held_slots < slots;
    if is_short {
        Check::fail(
            "slots",
            found,
            "workers lease the others within a minute; if they do not, see their logs",
        )
    } else {
        Check::ok("slots", found)
    }
}

fn listed(what: &str, slots: &[i16]) -> String {
    let numbers: Vec<String> = slots.iter().map(i16::to_string).collect();
    match numbers.as_slice() {
        [] => String::new(),
        numbers => format!("; slots {} {what}", numbers.join(", ")),
    }
}

fn links(health: &FrontierHealth) -> Check {
    match health.oldest_links {
        Some(hour) if health.server_time - hour > OLDEST_LINKS => Check::fail(
            "unread links",
            format!(
                "links from {} have not been read by their slots",
                hour.format("%Y-%m-%d %H:00")
            ),
            "a slot does not read them: it has no worker, or its worker records no checkpoint; \
             see its log",
        ),
        Some(_) | None => Check::ok("unread links", "no links have waited for hours"),
    }
}

fn clock(server: DateTime<Utc>, here: DateTime<Utc>) -> Check {
    let difference = here - server;
    let found = format!("{} ms from the server's", difference.num_milliseconds());
    if difference.abs() <= MAX_CLOCK_DIFFERENCE {
        return Check::ok("clock", found);
    }
    Check::fail("clock", found, "synchronize the clocks of this machine and of Postgres (chrony)")
}

fn contact(user_agent: &str) -> Check {
    match site_identity::check_user_agent(user_agent) {
        Ok(()) => Check::ok("User-Agent", user_agent),
        Err(error) => Check::fail(
            "User-Agent",
            error.message,
            "crawl workers start with --site-url and --contact, or with --user-agent",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER_AGENT: &str = "Bot/1.0 (+https://bot.page/about)";

    fn health() -> FrontierHealth {
        FrontierHealth {
            open_crawls: 2,
            running_crawls: 1,
            stores: Vec::new(),
            live_workers: 3,
            held_slots: 256,
            slots: 256,
            suspect_slots: Vec::new(),
            isolated_slots: Vec::new(),
            oldest_links: DateTime::from_timestamp(1_800_000_000, 0),
            is_of_another_server: false,
            server_time: DateTime::from_timestamp(1_800_003_000, 0).unwrap(),
        }
    }

    fn failed(health: &FrontierHealth, user_agent: &str) -> Vec<Check> {
        let checks = checks_of(health, health.server_time, user_agent, None);
        checks.into_iter().filter(|check| !check.ok).collect()
    }

    #[test]
    fn each_fault_of_a_crawl_fails_its_own_check_and_says_what_to_do() {
        assert_eq!(failed(&health(), USER_AGENT), []);
        let paused =
            FrontierHealth { running_crawls: 0, live_workers: 0, held_slots: 0, ..health() };
        assert_eq!(failed(&paused, USER_AGENT), []);
        let later = health().server_time + TimeDelta::hours(5);
        for (name, words, health) in [
            (
                "live crawls",
                "begin_epoch",
                FrontierHealth { is_of_another_server: true, ..health() },
            ),
            ("crawl workers", "--role crawl", FrontierHealth { live_workers: 0, ..health() }),
            ("slots", "255 of 256 held", FrontierHealth { held_slots: 255, ..health() }),
            ("slots", "slots 3, 9 lost", FrontierHealth { suspect_slots: vec![3, 9], ..health() }),
            ("unread links", "2027-01-15 08:00", FrontierHealth { server_time: later, ..health() }),
        ] {
            let found = failed(&health, USER_AGENT);
            assert!(found.len() == 1 && found[0].check == name, "{found:?}");
            assert!(found[0].text().contains(words), "{}", found[0].text());
        }
        for user_agent in ["EveryTabBot/1.0 (+https://everytab.example/bot.html)", "Bot/1.0"] {
            assert_eq!(failed(&health(), user_agent)[0].check, "User-Agent");
        }
        assert_eq!(failed(&health(), "Bot/1.0 (me@bot.page)"), []);
        // A host that is being set up must not fail because of the fleet's problems.
        let needs = RoleNeeds { is_crawler: true, ..RoleNeeds::default() };
        let idle = FrontierHealth { live_workers: 0, held_slots: 0, ..health() };
        let checks = checks_of(&idle, idle.server_time, USER_AGENT, Some(&needs));
        assert!(checks.iter().all(|check| check.ok), "{checks:?}");
        let slow = clock(health().server_time, health().server_time - TimeDelta::seconds(3));
        assert!(!slow.ok && slow.found.starts_with("-3000 ms"), "{slow:?}");
    }

    #[test]
    fn a_database_without_open_crawls_needs_nothing() {
        let none =
            FrontierHealth { open_crawls: 0, running_crawls: 0, live_workers: 0, ..health() };
        let checks = checks_of(&none, none.server_time, "Bot/1.0", None);
        assert_eq!(checks, [Check::ok("live crawls", "none is open")]);
    }
}
