//! Prints the plan of a live crawl, as tables or as JSON.

use everytab_fetcher::capacity;
use everytab_frontier::{MAX_KNOWN_PER_HOST, SiteBudget};
use serde_json::{Value, json};

use super::{
    crawl_bounds::{CrawlBound, CrawlFleet, CrawlOrder},
    crawl_dollars::{CrawlBill, CrawlCost, KeptOfCrawl},
    crawl_media::CrawlMedia,
    crawl_rates::RATES,
    crawl_totals::CrawlTotals,
    figure::{Figure, counted, number, rounded},
    live_crawl_options::LiveCrawlToPlan,
    page_use::PageUse,
};
use crate::{
    error::OperationError,
    line_sink::LineSink,
    plan::{prices::Prices, rates},
};

/// Rates of scans that the plan of a live crawl also uses.
const SHARED_RATES: [&str; 9] = [
    "FETCH_SLOT",
    "FETCH_CPU",
    "CONNECTION_BYTES_IN",
    "CONNECTION_BYTES_OUT",
    "REQUEST_BYTES_OUT",
    "LOOKUP_BYTES_OUT",
    "WORKER_DISK_GB",
    "SPARE_HOURS",
    "OTHER_ZONES",
];

/// The plan of a live crawl: cost per page, limits, sums and dollars.
struct CrawlPlan {
    page: Vec<Figure>,
    fleet: CrawlFleet,
    /// Requests in flight for which a worker has memory.
    max_in_flight: u64,
    days: f64,
    totals: Vec<Figure>,
    costs: Vec<CrawlCost>,
    dollars: f64,
    spot_dollars: f64,
    kept: Vec<KeptOfCrawl>,
    /// Empty if media are not kept.
    media: Vec<Figure>,
}

/// Prints the plan of a live crawl.
///
/// # Errors
/// Returns an error if an instance type has no price, or a number is invalid.
pub(in crate::plan) fn print(
    options: &LiveCrawlToPlan,
    prices: &str,
    as_json: bool,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    options.check()?;
    let prices = Prices::read(prices)?;
    let machine = prices.machine(&options.instance)?;
    let database = prices.database(&options.database_instance)?;
    let max_in_flight = capacity::requests_in((machine.memory_gib * 1_073_741_824.0) as u64) as u64;
    if max_in_flight < options.in_flight {
        sink.note(format_args!(
            "warning: {} has memory for {max_in_flight} requests in flight of a worker; that is \
             what is reckoned with",
            options.instance
        ));
    }
    let plan = plan(options, max_in_flight, &prices)?;
    if as_json {
        sink.data(format_args!("{}", document(options, &plan, &prices)))?;
        return Ok(());
    }
    for line in table(options, &plan) {
        sink.data(format_args!("{line}"))?;
    }
    warn_of_large_hosts(options, sink);
    if plan.fleet.databases > 1.0 {
        sink.note(format_args!(
            "warning: several databases are computed only; this version runs a crawl on one \
             Postgres (docs/cost-of-crawls.md)"
        ));
    }
    sink.note(format_args!("prices of {} in {}; {}", prices.date, prices.region, prices.about));
    sink.note(format_args!(
        "the worker's price is {}, the database's {}, spot taken as {} of on demand is {}",
        machine.basis, database.basis, prices.spot_share.price, prices.spot_share.basis
    ));
    sink.note(format_args!(
        "rates: --json lists each with its source, or as assumed; docs/cost-of-crawls.md says how \
         far they go"
    ));
    Ok(())
}

/// Warns if a crawl would refuse pages, which the model does not compute.
fn warn_of_large_hosts(options: &LiveCrawlToPlan, sink: &dyn LineSink) {
    let pages_a_host = options.pages as f64 / options.hosts as f64;
    let known_of_a_host = pages_a_host * options.known_per_page;
    let budget = SiteBudget::default().0;
    if known_of_a_host > MAX_KNOWN_PER_HOST as f64 {
        sink.note(format_args!(
            "warning: {} URLs a host, and a crawl knows {MAX_KNOWN_PER_HOST} of one at most; give \
             more --crawl-hosts",
            number(known_of_a_host)
        ));
    } else if pages_a_host > budget as f64 {
        sink.note(format_args!(
            "warning: {} pages a host; crawl start --site-pages has to be set, for it is {budget}",
            number(pages_a_host)
        ));
    }
}

fn plan(
    options: &LiveCrawlToPlan,
    max_in_flight: u64,
    prices: &Prices,
) -> Result<CrawlPlan, OperationError> {
    let order = CrawlOrder {
        pages: options.pages as f64,
        days: options.days,
        // A host without a page is not requested.
        hosts: options.hosts.min(options.pages) as f64,
        database_gb: options.database_gb as f64,
        workers: options.workers.map(|workers| workers as f64),
        in_flight: options.in_flight.min(max_in_flight) as f64,
        core_speed: options.core_speed,
        machine: prices.machine(&options.instance)?,
        database: prices.database(&options.database_instance)?,
        page: PageUse::new(options.page_bytes, options.known_per_page),
    };
    let fleet = order.fleet()?;
    let totals = CrawlTotals::new(&order, &fleet);
    let bill = CrawlBill::new(&order, &fleet, &totals, prices);
    let (costs, kept) = (bill.costs(), bill.kept());
    let sum = |of: fn(&CrawlCost) -> f64| costs.iter().map(of).sum();
    let media = CrawlMedia::new(&order, &fleet, &totals, options.media_per_page);
    Ok(CrawlPlan {
        page: order.page.figures(),
        max_in_flight,
        days: totals.days(),
        totals: totals.figures(&order, &fleet),
        dollars: sum(|cost| cost.dollars),
        spot_dollars: sum(|cost| cost.spot),
        costs,
        kept,
        media: media.map_or_else(Vec::new, |media| media.figures(prices)),
        fleet,
    })
}

fn table(options: &LiveCrawlToPlan, plan: &CrawlPlan) -> Vec<String> {
    let fleet = &plan.fleet;
    let mut lines = vec![
        format!(
            "{} of {} bytes of HTML on {}; {} known URLs a page",
            counted(options.pages as f64, "page"),
            number(options.page_bytes),
            counted(options.hosts.min(options.pages) as f64, "host"),
            number(options.known_per_page)
        ),
        format!(
            "{} of {} and {} of {}: {} pages/s, {}; bound by {}, then {}",
            counted(fleet.workers, "worker"),
            options.instance,
            counted(fleet.databases, "database"),
            options.database_instance,
            number(fleet.pages_a_second),
            counted(plan.days, "day"),
            fleet.bound_by,
            fleet.then_by
        ),
    ];
    let mut section = |title: &str, head: &str, rows: Vec<String>| {
        lines.push(String::new());
        lines.push(format!("  {title:<30} {head:>18}  formula"));
        lines.extend(rows);
    };
    let figures = |figures: &[Figure]| figures.iter().map(Figure::line).collect::<Vec<_>>();
    section("what bounds it", "pages/s", plan.bound_lines());
    section("what a page takes", "", figures(&plan.page));
    section("what the crawl takes", "", figures(&plan.totals));
    section("what is paid for", "dollars (on spot)", plan.cost_lines());
    section("what is kept", "dollars", plan.kept.iter().map(KeptOfCrawl::line).collect());
    if !plan.media.is_empty() {
        section("media, if they are kept, too", "", figures(&plan.media));
    }
    lines
}

impl CrawlPlan {
    fn bound_lines(&self) -> Vec<String> {
        let line = |bound: &CrawlBound| {
            let mark = if bound.name == self.fleet.bound_by { "<- bound" } else { "" };
            let pages_a_second = number(bound.pages_a_second);
            let line =
                format!("  {:<30} {pages_a_second:>18}  {}  {mark}", bound.name, bound.formula);
            line.trim_end().to_owned()
        };
        self.fleet.bounds.iter().map(line).collect()
    }

    fn cost_lines(&self) -> Vec<String> {
        let amount = |dollars: f64, spot: f64| {
            if dollars == spot {
                format!("{dollars:.2}")
            } else {
                format!("{dollars:.2} ({spot:.2})")
            }
        };
        let line = |cost: &CrawlCost| {
            format!("  {:<30} {:>18}  {}", cost.name, amount(cost.dollars, cost.spot), cost.formula)
        };
        let mut lines: Vec<String> = self.costs.iter().map(line).collect();
        lines.push(format!(
            "  {:<30} {:>18}",
            "the crawl",
            amount(self.dollars, self.spot_dollars)
        ));
        lines
    }
}

impl KeptOfCrawl {
    fn line(&self) -> String {
        let dollars = format!("{:.2} {}", self.dollars, self.per.text());
        format!("  {:<30} {dollars:>18}  {}", self.name, self.formula)
    }
}

fn document(options: &LiveCrawlToPlan, plan: &CrawlPlan, prices: &Prices) -> Value {
    let fleet = &plan.fleet;
    let figures = |figures: &[Figure]| figures.iter().map(Figure::json).collect::<Vec<_>>();
    let bound = |bound: &CrawlBound| {
        json!({"name": bound.name, "pages_a_second": rounded(bound.pages_a_second),
               "share_used": rounded(fleet.pages_a_second / bound.pages_a_second),
               "formula": bound.formula})
    };
    let cost = |cost: &CrawlCost| {
        json!({"name": cost.name, "dollars": rounded(cost.dollars),
               "spot_dollars": rounded(cost.spot), "formula": cost.formula})
    };
    let kept = |kept: &KeptOfCrawl| {
        json!({"name": kept.name, "dollars": rounded(kept.dollars), "per": kept.per.text(),
               "formula": kept.formula})
    };
    let shared = rates::RATES.iter().filter(|rate| SHARED_RATES.contains(&rate.name));
    let rates = RATES.iter().chain(shared).map(|rate| {
        json!({"name": rate.name.to_lowercase(), "value": rate.value, "unit": rate.unit,
               "source": rate.source})
    });
    json!({
        "crawl_pages": options.pages, "crawl_days": options.days,
        "page_bytes": options.page_bytes, "known_per_page": options.known_per_page,
        "hosts": options.hosts.min(options.pages), "instance": options.instance,
        "database_instance": options.database_instance,
        "database_gb": options.database_gb, "media_per_page": options.media_per_page,
        "in_flight": options.in_flight.min(plan.max_in_flight), "core_speed": options.core_speed,
        "workers": fleet.workers as u64, "databases": fleet.databases as u64,
        "pages_a_second": rounded(fleet.pages_a_second), "days": rounded(plan.days),
        "bound_by": fleet.bound_by, "then_by": fleet.then_by,
        "bounds": fleet.bounds.iter().map(bound).collect::<Vec<_>>(),
        "page": figures(&plan.page), "totals": figures(&plan.totals),
        "costs": plan.costs.iter().map(cost).collect::<Vec<_>>(),
        "dollars": rounded(plan.dollars), "spot_dollars": rounded(plan.spot_dollars),
        "kept": plan.kept.iter().map(kept).collect::<Vec<_>>(), "media": figures(&plan.media),
        "prices": {"date": prices.date, "region": prices.region, "about": prices.about},
        "rates": rates.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests;
