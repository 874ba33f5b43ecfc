//! Reads the kernel's statistics about this process from /proc when metrics are exported.

use std::fs;

/// Returns this process's user and system time in seconds.
pub(super) fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may contain any characters. utime and stime are the 12th and 13th
    // fields after it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(ticks as f64 / TICKS_PER_SECOND)
}

/// Clock ticks per second in /proc (USER_HZ), which Linux fixes at 100.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1_024)
}

pub(super) fn open_files() -> Option<u64> {
    // Listing the directory opens one more file.
    fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as u64 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_statistics_are_parsed() {
        let began = cpu_seconds().unwrap();
        let held = vec![1_u8; 64 << 20];
        let sum: u64 = held.iter().map(|byte| u64::from(*byte)).sum();
        assert!(resident_bytes().unwrap() > sum);
        while cpu_seconds().unwrap() == began {}
        let before = open_files().unwrap();
        let file = fs::File::open("/proc/self/stat").unwrap();
        assert_eq!(open_files().unwrap(), before + 1);
        drop(file);
    }
}
