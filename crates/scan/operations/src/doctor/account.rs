//! Checks the AWS account: its identity, and whether its quotas allow the fleet's cores.

use everytab_storage::{AwsSettings, StorageError, StorageErrorKind, account};

use super::check::Check;

/// Cores of the console's instance, which is always on demand (`terraform/modules/scanning`).
const CONSOLE_CORES: u64 = 2;
const SPOT: (&str, &str) = ("spot cores", "L-34B43A08");
const ON_DEMAND: (&str, &str) = ("on-demand cores", "L-1216C47A");

/// The instances that terraform will start, in addition to the console.
#[derive(Debug, Clone)]
pub struct FleetSize {
    /// Total number of workers.
    pub workers: u64,
    /// Number of on-demand workers.
    pub on_demand: u64,
    /// The workers' instance type, such as `c7g.large`.
    pub instance: String,
}

/// Checks that there are credentials, and that the account's core quotas suffice.
pub async fn check(fleet: &FleetSize) -> Vec<Check> {
    let settings = AwsSettings::default();
    let Some(cores) = cores(&fleet.instance) else {
        let found = format!("unknown instance type {}", fleet.instance);
        return vec![Check::fail("account", found, "give --instance, such as c7g.large")];
    };
    let mut checks = Vec::new();
    match account::caller(&settings).await {
        Ok(caller) => {
            let found = format!("{} in {}", caller.account, caller.region);
            checks.push(Check::ok("account", found));
        }
        Err(error) => return vec![Check::fail("account", error.to_string(), SIGN_IN)],
    }
    let on_demand = fleet.on_demand.min(fleet.workers);
    let spot_cores = (fleet.workers - on_demand).saturating_mul(cores);
    let on_demand_cores = on_demand.saturating_mul(cores).saturating_add(CONSOLE_CORES);
    for ((name, code), wanted) in [(SPOT, spot_cores), (ON_DEMAND, on_demand_cores)] {
        checks.push(suffices(name, code, wanted, account::quota("ec2", code, &settings).await));
    }
    checks
}

const SIGN_IN: &str = "sign in (aws sso login), or set AWS_PROFILE and AWS_REGION";

fn suffices(
    name: &'static str,
    code: &str,
    wanted: u64,
    quota: Result<f64, StorageError>,
) -> Check {
    match quota {
        Ok(quota) if wanted as f64 <= quota => {
            Check::ok(name, format!("{wanted} of {quota} (quota {code})"))
        }
        Ok(quota) => Check::fail(
            name,
            format!("the fleet needs {wanted}, but the account may run {quota} (quota {code})"),
            "request more in Service Quotas, or start fewer workers",
        ),
        Err(error) => {
            let remedy = match error.kind() {
                StorageErrorKind::Denied => "grant servicequotas:GetServiceQuota",
                _ => "check AWS_REGION, the endpoint and the network",
            };
            Check::fail(name, error.to_string(), remedy)
        }
    }
}

/// Returns an instance type's cores from its size, as `terraform/modules/fleet/workers.tf` does.
fn cores(instance: &str) -> Option<u64> {
    let (_, size) = instance.split_once('.')?;
    match size {
        "medium" => Some(1),
        "large" => Some(2),
        "xlarge" => Some(4),
        size => size.strip_suffix("xlarge")?.parse::<u64>().ok()?.checked_mul(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_tells_the_cores() {
        let found = ["c7g.medium", "c7g.large", "m7g.xlarge", "c7i.12xlarge"].map(cores);
        assert_eq!(found, [Some(1), Some(2), Some(4), Some(48)]);
        let unknown = ["", "large", "c7g.", "c7g.metal", "c7g.0.5xlarge", "c7g.-1xlarge"];
        assert_eq!(unknown.map(cores), [None; 6]);
    }

    #[test]
    fn a_quota_that_does_not_suffice_names_both_numbers() {
        let (name, code) = SPOT;
        let check = suffices(name, code, 16, Ok(5.0));
        assert_eq!((check.ok, check.found.contains("needs 16")), (false, true), "{check:?}");
        assert!(suffices(name, code, 16, Ok(16.0)).ok);
    }
}
