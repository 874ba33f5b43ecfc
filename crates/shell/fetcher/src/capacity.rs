//! Computes how many requests this process's open-file limit and memory allow in flight, so that
//! none of them fails for lack of resources.

use std::fs;

use crate::settings::{FetchSettings, REQUEST_BYTES, WAITING_BYTES};

/// Open files per request in flight: one for its connection, one for a DNS lookup, and two in
/// reserve for the rest of the process.
const FILES_A_REQUEST: u64 = 4;
/// Assumed limit for open files if the system does not report one.
const OPEN_FILES_AT_LEAST: u64 = 256;
/// Requests and their response bodies may use three quarters of the memory that this process may
/// use.
const PARTS: (u64, u64) = (3, 4);

/// A resource that requests need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The resource's name, for messages.
    pub name: &'static str,
    /// How an operator can get more of it.
    pub remedy: &'static str,
    unit: &'static str,
    has: u64,
    fixed: u64,
    each: u64,
}

impl Capacity {
    /// Returns the maximum number of requests in flight that this resource allows, at least 1.
    pub fn requests(&self) -> usize {
        let fit = self.has.saturating_sub(self.fixed) / self.each;
        usize::try_from(fit).unwrap_or(usize::MAX).max(1)
    }

    /// Describes the available amount and the amount that `in_flight` requests need.
    pub fn describe(&self, in_flight: usize) -> String {
        let wanted = self.each.saturating_mul(in_flight as u64).saturating_add(self.fixed);
        let Self { has, unit, .. } = self;
        format!("the limit is {has}{unit}, --in-flight {in_flight} needs {wanted}{unit}")
    }
}

/// Raises the soft limit for open files to the hard limit. Returns the capacity for open files, and
/// for memory if the system reports it.
pub fn capacities() -> Vec<Capacity> {
    let files = rlimit::raise().unwrap_or(OPEN_FILES_AT_LEAST);
    let files = Capacity {
        name: "open files",
        remedy: "raise it (ulimit -n, LimitNOFILE=) or lower --in-flight",
        unit: "",
        has: files,
        fixed: 0,
        each: FILES_A_REQUEST,
    };
    let memory = memory_bytes().map(memory_capacity);
    [Some(files), memory].into_iter().flatten().collect()
}

/// Returns how many requests may be in flight on a system with this much memory, in bytes.
pub fn requests_in(machine_bytes: u64) -> usize {
    memory_capacity(machine_bytes).requests()
}

/// Returns the maximum memory in bytes for `requests` in flight, with their bodies and the waiting
/// origins.
pub fn memory_of(requests: u64) -> u64 {
    let room = memory_capacity(0);
    (room.fixed + requests * room.each) * 1_024
}

fn memory_capacity(machine_bytes: u64) -> Capacity {
    let body_budget_bytes = FetchSettings::default().body_budget_bytes;
    Capacity {
        name: "memory",
        remedy: "lower --in-flight, or run on a host with more memory",
        unit: " KiB",
        has: machine_bytes / PARTS.1 * PARTS.0 / 1_024,
        fixed: (body_budget_bytes + WAITING_BYTES) as u64 / 1_024,
        each: REQUEST_BYTES as u64 / 1_024,
    }
}

fn memory_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(of_meminfo);
    let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = group_files(&group).into_iter().filter_map(|file| {
        let text = fs::read_to_string(file).ok()?;
        text.trim().parse::<u64>().ok()
    });
    limits.chain(machine).min()
}

fn of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1_024)
}

fn group_files(group: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in group.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(kinds), Some(path)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (folder, file) = match kinds {
            "" => ("/sys/fs/cgroup", "memory.max"),
            "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            files.push(format!("{folder}{path}/{file}"));
            let Some((parent, _)) = path.rsplit_once('/') else { break };
            path = parent;
        }
    }
    files
}

mod rlimit {
    //! System calls for process limits, because std does not provide them.
    #![allow(unsafe_code)]

    pub(super) fn raise() -> Option<u64> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the pointer is to a valid `rlimit`, and getrlimit writes nothing else.
        if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
            return None;
        }
        let before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the pointer is to a valid `rlimit`, and setrlimit only reads it.
        let raised = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } == 0;
        Some(if raised { limit.rlim_cur } else { before })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_flight_are_at_most_a_quarter_of_the_open_files() {
        let requests = |has| {
            let files = Capacity { name: "", remedy: "", unit: "", has, fixed: 0, each: 4 };
            files.requests()
        };
        assert_eq!(requests(20_000), 5_000);
        assert_eq!(requests(1_024), 256);
        assert_eq!(requests(3), 1);
    }

    #[test]
    fn requests_and_bodies_fit_into_three_quarters_of_the_memory() {
        let of = |mebibytes: u64| memory_capacity(mebibytes << 20).requests() as u64;
        for mebibytes in [768, 1_024, 2_048, 16_384] {
            let taken = of(mebibytes) * REQUEST_BYTES as u64 + (256 << 20) + WAITING_BYTES as u64;
            assert!(taken <= (mebibytes << 20) / 4 * 3, "{mebibytes} MiB: {taken}");
        }
        assert!(of(1_024) >= 512, "the default on a host with one GiB");
        assert!(of(8_192) >= 20_000, "the largest setting");
        assert_eq!(of(64), 1);
        let most = memory_of(requests_in(4 << 30) as u64);
        assert!(most <= 3 << 30 && most > (3 << 30) - (1 << 20), "{most}");
        let described = memory_capacity(1 << 30).describe(10_000);
        assert!(
            described.starts_with("the limit is 786432 KiB, --in-flight 10000 needs "),
            "{described}"
        );
    }

    #[test]
    fn memory_limits_are_read_from_the_cgroup_and_its_ancestors() {
        let version_2 = group_files("0::/system.slice/everytab-worker.service\n");
        assert_eq!(
            version_2,
            [
                "/sys/fs/cgroup/system.slice/everytab-worker.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
        let version_1 = group_files("12:cpu,cpuacct:/a\n4:memory:/a\n");
        assert_eq!(version_1[0], "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
        assert_eq!(group_files("0::/\n"), ["/sys/fs/cgroup/memory.max"]);
        assert!(group_files("nonsense\n").is_empty());
        assert_eq!(of_meminfo("MemTotal:  24 kB\nMemFree: 1 kB\n"), Some(24_576));
        assert_eq!(of_meminfo("MemFree: 1 kB\n"), None);
    }
}
