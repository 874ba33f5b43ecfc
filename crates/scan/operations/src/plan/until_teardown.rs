//! Computes how long Postgres and the console must be paid for. An hour after a scan, or after its
//! backup, the console stops Postgres and itself. From then until teardown, only their disks cost
//! money.

use super::{
    options::{AfterScan, PlannedBackup},
    prices::{Database, HOUR, HOURS_PER_MONTH, Prices},
    rates::{CONSOLE_DISK_GB, DATABASE_GB, RESTART_DAYS, SPARE_HOURS, STOP_HOURS},
};

/// Hours per day.
const HOURS_PER_DAY: f64 = 24.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UntilTeardown {
    /// Hours for all bytes in a backup to pass through the console once.
    pub(super) pass_hours: f64,
    pub(super) backup_hours: f64,
    /// Hours after scan and backup until the console stops Postgres and itself, or until teardown.
    pub(super) stop_hours: f64,
    pub(super) console_hours: f64,
    /// Hours for which Postgres runs, including the time after AWS has started it again.
    pub(super) database_hours: f64,
    pub(super) disk_hours: f64,
}

impl UntilTeardown {
    /// Teardown waits for the backup.
    pub(super) fn new(after: AfterScan, scan_hours: f64, backup_gb: f64, prices: &Prices) -> Self {
        let pass_hours = backup_gb * 8.0 / prices.console.network_gbit / HOUR;
        let passes = match after.backup {
            PlannedBackup::None => 0.0,
            PlannedBackup::Written => 1.0,
            PlannedBackup::Verified => 2.0,
        };
        let backup_hours = passes * pass_hours;
        let scanned = SPARE_HOURS + scan_hours;
        let after_scan = backup_hours.max(after.days_until_teardown * HOURS_PER_DAY);
        let disk_hours = scanned + after_scan;
        let stop_hours = STOP_HOURS.min(after_scan - backup_hours);
        let console_hours = scanned + backup_hours + stop_hours;
        let stopped = disk_hours - console_hours;
        let restarted = (stopped - RESTART_DAYS * HOURS_PER_DAY).max(0.0);
        let database_hours = console_hours + restarted;
        Self { pass_hours, backup_hours, stop_hours, console_hours, database_hours, disk_hours }
    }

    pub(super) fn is_restarted(&self) -> bool {
        self.database_hours > self.console_hours
    }

    pub(super) fn database_dollars(&self, database: &Database, prices: &Prices) -> f64 {
        let disk_hour = DATABASE_GB * prices.database_gb_month.price / HOURS_PER_MONTH;
        self.database_hours * database.hour + self.disk_hours * disk_hour
    }

    pub(super) fn console_dollars(&self, prices: &Prices) -> f64 {
        let hour = prices.console.hour + prices.public_address_hour.price;
        let disk_hour = CONSOLE_DISK_GB * prices.worker_disk_gb_month.price / HOURS_PER_MONTH;
        self.console_hours * hour + self.disk_hours * disk_hour
    }
}

/// Each object is read and written once. Verification reads it again.
pub(super) fn backup_requests(backup: PlannedBackup, thousands: f64, prices: &Prices) -> f64 {
    let (puts, gets) = match backup {
        PlannedBackup::None => (0.0, 0.0),
        PlannedBackup::Written => (1.0, 1.0),
        PlannedBackup::Verified => (1.0, 2.0),
    };
    thousands * (puts * prices.thousand_puts.price + gets * prices.thousand_gets.price)
}

pub(super) fn stopped_day_dollars(prices: &Prices) -> f64 {
    let month = DATABASE_GB * prices.database_gb_month.price
        + CONSOLE_DISK_GB * prices.worker_disk_gb_month.price
        + prices.secret_month.price;
    month * HOURS_PER_DAY / HOURS_PER_MONTH
}

pub(super) fn restarted_day_dollars(database: &Database) -> f64 {
    database.hour * HOURS_PER_DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices() -> Prices {
        Prices::read(include_str!("../../../../../worker/prices.json")).unwrap()
    }

    fn hours(days_until_teardown: f64, backup: PlannedBackup) -> UntilTeardown {
        UntilTeardown::new(AfterScan { days_until_teardown, backup }, 8.5, 352.0, &prices())
    }

    fn assert_near(one: f64, other: f64) {
        assert!((one - other).abs() < 0.005, "{one} {other}");
    }

    #[test]
    fn postgres_and_console_run_until_the_stop_and_their_disks_stay_until_teardown() {
        let five = hours(5.0, PlannedBackup::Verified);
        assert_near(five.pass_hours, 3.06);
        assert_near(five.console_hours, 1.0 + 8.5 + 6.11 + 1.0);
        assert_near(five.disk_hours, 1.0 + 8.5 + 120.0);
        let prices = prices();
        let database = prices.database("db.t4g.large").unwrap();
        let by_hand = 16.61 * 0.129 + 100.0 * 0.115 * 129.5 / 730.0;
        assert_near(five.database_dollars(database, &prices), by_hand);
        let by_hand = 16.61 * (0.0336 + 0.005) + 120.0 * 0.08 * 129.5 / 730.0;
        assert_near(five.console_dollars(&prices), by_hand);
    }

    #[test]
    fn a_further_day_costs_the_disks_until_aws_starts_postgres_again() {
        let prices = prices();
        let database = prices.database("db.t4g.large").unwrap();
        let dollars = |days| {
            let hours = hours(days, PlannedBackup::None);
            hours.database_dollars(database, &prices) + hours.console_dollars(&prices)
        };
        let disks = stopped_day_dollars(&prices) - prices.secret_month.price * 24.0 / 730.0;
        assert_near(dollars(6.0) - dollars(5.0), disks);
        assert_near(dollars(20.0) - dollars(19.0), disks + restarted_day_dollars(database));
    }

    #[test]
    fn nothing_is_paid_after_a_teardown_before_the_stop_and_it_waits_for_the_backup() {
        let now = hours(0.0, PlannedBackup::None);
        assert_near(now.disk_hours, 9.5);
        assert_near(now.console_hours, 9.5);
        let written = hours(0.0, PlannedBackup::Written);
        assert_near(written.disk_hours, 9.5 + 3.06);
        assert_near(written.database_hours, 9.5 + 3.06);
    }
}
