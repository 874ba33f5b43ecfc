//! Reads any bytes as robots.txt, with the first line as the requested path.
#![no_main]

use everytab_webpage::RobotsTxt;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let line_end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let path = format!("/{}", String::from_utf8_lossy(&bytes[..line_end]));
    let robots = RobotsTxt::parse(bytes);
    let first = robots.allowed("everytab", &path);
    assert_eq!(first, RobotsTxt::parse(bytes).allowed("EveryTab", &path), "case matters");
});
