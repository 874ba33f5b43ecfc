//! Models a scan's hours and dollars on a fleet, from measured rates. A stage takes as long as its
//! scarcest resource requires. From warc on, the stages share the fleet, and together they take as
//! long as the resource that they need longest in total.

use everytab_fetcher::capacity;
use everytab_jobs::{CONCURRENT_RECORDS, CONCURRENT_WARC_JOBS, scan_settings::ENTRIES_PER_BUNDLE};

use super::{
    objects::Objects,
    options::AfterScan,
    prices::{Database, HOUR, HOURS_PER_MONTH, Machine, Prices},
    rates::{
        BACKUPS_KEPT, CONNECTION_BYTES_IN, CONNECTION_BYTES_OUT, CONNECTIONS_A_HOST, DUMP_SHARE,
        FETCH_CPU, ICON_BYTES, ICON_LINE_BYTES, ICONS_A_HOST, INDEX_BYTES_A_HOST,
        INDEX_RANGES_A_HOST, INDEX_ROWS_A_CPU_SECOND, INDEX_ROWS_A_HOST, LOG_GB, LOOKUP_BYTES_OUT,
        MAP_BYTES, MAP_HOSTS_A_SECOND, MAP_PART_BYTES, OTHER_ZONES, OWN_METRICS, PAGE_BYTES,
        PAGE_CPU, PAGE_LATENCY, RANKED_HOST_BYTES, REQUEST_BYTES_OUT, REQUESTS_BYTES,
        ROBOTS_A_HOST, ROBOTS_SLOT, ROW_BYTES_OF_A_PAGE, ROW_BYTES_OF_AN_ICON, ROW_DATABASE_CPU,
        SEARCH_BYTES, SEARCH_HOSTS_A_SECOND, SEARCH_PART_BYTES, SLOTS_IN_USE, TAB_BYTES, TAB_CPU,
        VERSIONS_DAYS, WORKER_DISK_GB,
    },
    until_teardown::{UntilTeardown, backup_requests, stopped_day_dollars},
};

/// Number of hosts per shard, as in `coordinator.fan_out`.
const HOSTS_PER_SHARD: f64 = 1_200.0;
pub(super) const GB: f64 = 1e9;

#[derive(Debug, Clone)]
pub(super) struct Fleet<'a> {
    pub(super) hosts: f64,
    pub(super) workers: f64,
    pub(super) in_flight: f64,
    pub(super) fetch_slot: f64,
    pub(super) archive_rate: f64,
    /// A vCPU's speed, relative to a core on the host where the rates were measured.
    pub(super) core_speed: f64,
    pub(super) after: AfterScan,
    pub(super) machine: &'a Machine,
    pub(super) database: &'a Database,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FleetResource {
    Cpu,
    Network,
    InFlight,
    Postgres,
    ArchiveRate,
}

impl FleetResource {
    pub(super) const ALL: [Self; 5] =
        [Self::Cpu, Self::Network, Self::InFlight, Self::Postgres, Self::ArchiveRate];

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::Network => "network",
            Self::InFlight => "requests in flight x time of each",
            Self::Postgres => "Postgres's CPU",
            Self::ArchiveRate => "the archive-rate",
        }
    }
}

/// A stage, with the seconds that the whole fleet needs for each resource, in the order of
/// [`FleetResource::ALL`].
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) seconds: [f64; 5],
}

impl Stage {
    pub(super) fn hours(&self) -> f64 {
        self.seconds.iter().copied().fold(0.0, f64::max) / HOUR
    }

    pub(super) fn bound_by(&self) -> FleetResource {
        let scarcest = FleetResource::ALL.into_iter().zip(self.seconds);
        scarcest
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(FleetResource::Cpu, |(resource, _)| resource)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Cost {
    pub(super) name: &'static str,
    pub(super) dollars: f64,
    pub(super) spot: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) stages: Vec<Stage>,
    pub(super) together: Stage,
    pub(super) hours: f64,
    pub(super) costs: Vec<Cost>,
    pub(super) dollars: f64,
    pub(super) spot_dollars: f64,
    /// Maximum memory for a worker's requests, in gigabytes.
    pub(super) memory_gb: f64,
    pub(super) icons: f64,
    pub(super) sent_gb: f64,
    pub(super) received_gb: f64,
    pub(super) hosting_month: f64,
    pub(super) until_teardown: UntilTeardown,
    /// Dollars for one more day before teardown, while Postgres is stopped.
    pub(super) further_day: f64,
    pub(super) kept: Vec<Kept>,
    pub(super) backup_gb: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) name: &'static str,
    pub(super) dollars: f64,
    pub(super) per: Period,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    Once,
    Month,
}

impl Period {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Month => "a month",
        }
    }
}

struct ResourceUse {
    cpu: f64,
    bytes_in: f64,
    permits: f64,
    permit_seconds: f64,
    rows: f64,
    source_requests: f64,
}

impl Fleet<'_> {
    fn stage(&self, name: &'static str, used: &ResourceUse) -> Stage {
        let bits_a_second = self.machine.network_gbit * 1e9 * self.workers;
        let permits = (used.permits * self.workers).max(1.0);
        Stage {
            name,
            seconds: [
                used.cpu / (self.machine.vcpus * self.workers * self.core_speed),
                used.bytes_in * 8.0 / bits_a_second,
                used.permit_seconds / permits,
                used.rows * ROW_DATABASE_CPU / (self.database.vcpus * self.core_speed),
                used.source_requests / self.archive_rate,
            ],
        }
    }

    fn index(&self) -> Stage {
        self.stage(
            "index",
            &ResourceUse {
                cpu: self.hosts * INDEX_ROWS_A_HOST / INDEX_ROWS_A_CPU_SECOND,
                bytes_in: self.hosts * INDEX_BYTES_A_HOST,
                permits: 1.0,
                permit_seconds: 0.0,
                rows: self.hosts,
                source_requests: self.hosts * INDEX_RANGES_A_HOST,
            },
        )
    }

    fn warc(&self) -> Stage {
        self.stage(
            "warc",
            &ResourceUse {
                cpu: self.hosts * PAGE_CPU,
                bytes_in: self.hosts * PAGE_BYTES,
                permits: (CONCURRENT_WARC_JOBS * CONCURRENT_RECORDS) as f64,
                permit_seconds: self.hosts * PAGE_LATENCY,
                rows: self.hosts,
                source_requests: self.hosts,
            },
        )
    }

    fn icon(&self, icons: f64) -> Stage {
        let robots = self.hosts * ROBOTS_A_HOST;
        self.stage(
            "icon",
            &ResourceUse {
                cpu: (icons + robots) * FETCH_CPU,
                bytes_in: icons * ICON_BYTES
                    + self.hosts * CONNECTIONS_A_HOST * CONNECTION_BYTES_IN,
                permits: self.in_flight * SLOTS_IN_USE,
                permit_seconds: icons * self.fetch_slot + robots * ROBOTS_SLOT,
                rows: icons,
                source_requests: 0.0,
            },
        )
    }

    fn bundle(&self, icons: f64) -> Stage {
        self.stage(
            "bundle-shard",
            &ResourceUse {
                cpu: self.hosts * TAB_CPU,
                bytes_in: icons * ICON_BYTES,
                permits: 1.0,
                permit_seconds: 0.0,
                rows: 0.0,
                source_requests: 0.0,
            },
        )
    }

    fn closing(&self) -> Stage {
        // There are few closing jobs, so more than 8 workers do not help.
        let concurrent = self.workers.min(8.0);
        let merged = self.hosts / SEARCH_HOSTS_A_SECOND / concurrent;
        let drawn = self.hosts / MAP_HOSTS_A_SECOND / concurrent;
        let seconds = merged + drawn + 60.0;
        Stage { name: "search, map, publish", seconds: [seconds, 0.0, 0.0, 0.0, 0.0] }
    }
}

pub(super) fn model(fleet: &Fleet<'_>, prices: &Prices) -> Model {
    let icons = fleet.hosts * ICONS_A_HOST;
    let pipeline = [fleet.warc(), fleet.icon(icons), fleet.bundle(icons)];
    let mut together = Stage { name: "warc to bundle-shard", seconds: [0.0; 5] };
    for (index, resource) in FleetResource::ALL.into_iter().enumerate() {
        let each = pipeline.iter().map(|stage| stage.seconds[index]);
        // Warc and icon jobs have separate permits, so they do not compete for them.
        together.seconds[index] = match resource {
            FleetResource::InFlight => each.fold(0.0, f64::max),
            _ => each.sum(),
        };
    }
    let (index, closing) = (fleet.index(), fleet.closing());
    let hours = index.hours() + together.hours() + closing.hours();
    let received = fleet.hosts * (INDEX_BYTES_A_HOST + PAGE_BYTES)
        + icons * ICON_BYTES * 2.0
        + fleet.hosts * CONNECTIONS_A_HOST * CONNECTION_BYTES_IN;
    let sent = fleet.hosts * (CONNECTIONS_A_HOST * CONNECTION_BYTES_OUT + LOOKUP_BYTES_OUT)
        + (icons + fleet.hosts * ROBOTS_A_HOST) * REQUEST_BYTES_OUT;
    let sent_gb = sent / GB;
    let site_gb = site_gb(fleet);
    let backup_gb = site_gb + archive_gb(fleet, icons) + rows_gb(fleet, icons) * DUMP_SHARE;
    let until_teardown = UntilTeardown::new(fleet.after, hours, backup_gb, prices);
    let costs = costs(fleet, prices, hours, &until_teardown, sent_gb);
    let sum = |of: fn(&Cost) -> f64| costs.iter().map(of).sum();
    let (dollars, spot_dollars) = (sum(|cost| cost.dollars), sum(|cost| cost.spot));
    let [warc, icon, bundle] = pipeline;
    let hosting_month = site_gb * prices.store_gb_month.price;
    Model {
        stages: vec![index, warc, icon, bundle, closing],
        together,
        hours,
        dollars,
        spot_dollars,
        costs,
        memory_gb: capacity::memory_of(fleet.in_flight as u64) as f64 / GB,
        icons,
        sent_gb,
        received_gb: received / GB,
        hosting_month,
        until_teardown,
        further_day: stopped_day_dollars(prices) + archive_days(fleet, prices, icons, 1.0),
        kept: kept(fleet, prices, backup_gb, sent_gb, hosting_month),
        backup_gb,
    }
}

fn rows_gb(fleet: &Fleet<'_>, icons: f64) -> f64 {
    (fleet.hosts * ROW_BYTES_OF_A_PAGE + icons * ROW_BYTES_OF_AN_ICON) / GB
}

fn archive_gb(fleet: &Fleet<'_>, icons: f64) -> f64 {
    let of_a_host = REQUESTS_BYTES + SEARCH_PART_BYTES + MAP_PART_BYTES;
    (icons * ICON_BYTES + fleet.hosts * of_a_host) / GB
}

fn archive_days(fleet: &Fleet<'_>, prices: &Prices, icons: f64, days: f64) -> f64 {
    archive_gb(fleet, icons) * prices.store_gb_month.price * days / 30.0
}

fn site_gb(fleet: &Fleet<'_>) -> f64 {
    let of_a_host = TAB_BYTES + ICON_LINE_BYTES + SEARCH_BYTES + MAP_BYTES;
    (fleet.hosts * of_a_host + objects(fleet).ranked() as f64 * RANKED_HOST_BYTES) / GB
}

fn objects(fleet: &Fleet<'_>) -> Objects {
    Objects {
        hosts: fleet.hosts as u64,
        shards: (fleet.hosts / HOSTS_PER_SHARD).ceil() as u64,
        bundles: (fleet.hosts / f64::from(ENTRIES_PER_BUNDLE)).ceil() as u64,
        entries_per_bundle: ENTRIES_PER_BUNDLE,
    }
}

fn costs(
    fleet: &Fleet<'_>,
    prices: &Prices,
    hours: f64,
    until: &UntilTeardown,
    sent_gb: f64,
) -> Vec<Cost> {
    let icons = fleet.hosts * ICONS_A_HOST;
    let worker_hours = fleet.workers * hours;
    let same = |name, dollars: f64| Cost { name, dollars, spot: dollars };
    let machines = worker_hours * fleet.machine.hour;
    let addresses = worker_hours * prices.public_address_hour.price;
    let disks = worker_hours * WORKER_DISK_GB * prices.worker_disk_gb_month.price / HOURS_PER_MONTH;
    let zones = 2.0 * rows_gb(fleet, icons) * OTHER_ZONES * prices.between_zones_gb.price;
    let months = |hours: f64| hours / HOURS_PER_MONTH;
    let watched = months(until.disk_hours) * prices.secret_month.price
        + months(until.console_hours) * OWN_METRICS * prices.metric_month.price
        + LOG_GB * prices.log_gb.price;
    let objects = objects(fleet);
    let put = thousands(&objects) + objects.link_pages() as f64 / 1e3;
    let requests = put * prices.thousand_puts.price
        + objects.reads() as f64 / 1e3 * prices.thousand_gets.price;
    let backup = backup_requests(fleet.after.backup, thousands(&objects), prices);
    let archive = archive_days(fleet, prices, icons, fleet.after.days_until_teardown);
    let sent = (sent_gb - prices.sent_gb_free.price).max(0.0) * prices.sent_gb.price;
    vec![
        Cost { name: "workers", dollars: machines, spot: machines * prices.spot_share.price },
        same("their public IPv4 addresses", addresses),
        same("their disks", disks),
        same("Postgres", until.database_dollars(fleet.database, prices)),
        same("the console", until.console_dollars(prices)),
        same("traffic between zones", zones),
        same("Postgres's secret, logs, metrics", watched),
        same("requests to the stores", requests),
        same("requests of the backup", backup),
        same("the archive until teardown", archive),
        same("bytes sent to the web", sent),
    ]
}

fn thousands(objects: &Objects) -> f64 {
    (objects.archived() + objects.published()) as f64 / 1e3
}

fn kept(fleet: &Fleet<'_>, prices: &Prices, backup_gb: f64, sent_gb: f64, site: f64) -> Vec<Kept> {
    let month = |name, dollars| Kept { name, dollars, per: Period::Month };
    let once = |name, dollars| Kept { name, dollars, per: Period::Once };
    let thousands = thousands(&objects(fleet));
    let (standard, deep) = (prices.store_gb_month.price, prices.deep_archive_gb_month.price);
    let free_gb = (prices.sent_gb_free.price - sent_gb).max(0.0);
    vec![
        month("the site", site),
        month("its replaced versions, for 30 days", site * VERSIONS_DAYS / 30.0),
        month("the zone of its name", prices.zone_month.price),
        month("a backup in S3 Standard", backup_gb * standard),
        month("six of them, kept for 180 days", BACKUPS_KEPT * backup_gb * standard),
        once("moving one to Deep Archive", thousands * prices.thousand_archive_puts.price),
        month("a backup in Deep Archive", backup_gb * deep),
        month("six of them there", BACKUPS_KEPT * backup_gb * deep),
        once("a copy home", (backup_gb - free_gb).max(0.0) * prices.sent_gb.price),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::rates::FETCH_SLOT;

    fn modelled(hosts: f64, workers: f64, in_flight: f64, name: &str) -> Model {
        modelled_at(f64::INFINITY, hosts, workers, in_flight, name)
    }

    fn modelled_at(
        archive_rate: f64,
        hosts: f64,
        workers: f64,
        in_flight: f64,
        name: &str,
    ) -> Model {
        let prices = Prices::read(include_str!("../../../../../worker/prices.json")).unwrap();
        let (machine, database) =
            (prices.machine(name).unwrap(), prices.database("db.m7g.large").unwrap());
        let fleet = Fleet {
            hosts,
            workers,
            in_flight,
            fetch_slot: FETCH_SLOT,
            archive_rate,
            core_speed: 1.0,
            after: AfterScan::default(),
            machine,
            database,
        };
        model(&fleet, &prices)
    }

    fn stage<'a>(model: &'a Model, name: &str) -> &'a Stage {
        model.stages.iter().find(|stage| stage.name == name).unwrap()
    }

    #[test]
    fn a_stage_is_bound_by_what_runs_out_first() {
        let usual = modelled(30e6, 8.0, 512.0, "c7g.large");
        assert_eq!(stage(&usual, "icon").bound_by(), FleetResource::InFlight);
        let twice = modelled(30e6, 8.0, 1_024.0, "c7g.large");
        let ratio = stage(&usual, "icon").hours() / stage(&twice, "icon").hours();
        assert!((ratio - 2.0).abs() < 1e-6, "{ratio}");
        let many = modelled(30e6, 2.0, 100_000.0, "c7g.large");
        assert_eq!(stage(&many, "icon").bound_by(), FleetResource::Cpu);
        let by_cpu = many.icons * FETCH_CPU + 30e6 * FETCH_CPU;
        assert!((stage(&many, "icon").hours() - by_cpu / 4.0 / HOUR).abs() < 1e-6);
        let fleet = modelled(30e6, 500.0, 2_000.0, "c7g.2xlarge");
        assert_eq!(fleet.together.bound_by(), FleetResource::Postgres);
        assert_eq!(stage(&fleet, "index").bound_by(), FleetResource::Postgres);
    }

    #[test]
    fn the_archive_rate_bounds_what_reads_the_source_however_many_workers_there_are() {
        for workers in [8.0, 50.0] {
            let model = modelled_at(1_000.0, 30e6, workers, 512.0, "c7g.large");
            let warc = stage(&model, "warc");
            assert_eq!(warc.bound_by(), FleetResource::ArchiveRate, "{workers}");
            assert!((warc.hours() - 30e6 / 1_000.0 / HOUR).abs() < 1e-9, "{}", warc.hours());
            assert!(model.together.hours() >= warc.hours());
            assert!(stage(&model, "index").hours() * HOUR >= 45.0 - 1e-6);
        }
    }

    #[test]
    fn together_is_never_faster_than_its_slowest_stage_nor_slower_than_one_after_another() {
        for workers in [1.0, 4.0, 64.0, 300.0] {
            let model = modelled(30e6, workers, 1_500.0, "c7i.xlarge");
            let hours: Vec<f64> = model.stages[1..4].iter().map(Stage::hours).collect();
            let slowest = hours.iter().copied().fold(0.0, f64::max);
            let sum: f64 = hours.iter().sum();
            let together = model.together.hours();
            assert!(slowest <= together + 1e-9 && together <= sum + 1e-9, "{workers}");
        }
    }

    #[test]
    fn dollars_add_up_and_a_fleet_of_twice_the_size_costs_no_more_for_its_workers() {
        let eight = modelled(30e6, 8.0, 512.0, "c7g.large");
        let sum: f64 = eight.costs.iter().map(|cost| cost.dollars).sum();
        assert!((sum - eight.dollars).abs() < 1e-9);
        assert!(eight.spot_dollars < eight.dollars);
        assert!(eight.dollars > 5.0 && eight.dollars < 106.0, "{}", eight.dollars);
        let sixteen = modelled(30e6, 16.0, 512.0, "c7g.large");
        let (a, b) = (eight.costs[0].dollars, sixteen.costs[0].dollars);
        assert!((a - b).abs() < a * 0.05, "{a} {b}");
        assert!(sixteen.hours < eight.hours * 0.6);
        let none = modelled(1.0, 1.0, 512.0, "c7g.large");
        assert!(none.hours.is_finite() && none.dollars.is_finite());
    }
}
