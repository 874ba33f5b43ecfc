//! Events: to stderr, as lines for people or as JSON for machines.

use std::io::IsTerminal as _;

use tracing_subscriber::{EnvFilter, fmt, prelude::*};

/// Starts logging. `EVERYTAB_LOG` filters (such as `info`, `everytab_worker=debug`), `default` is
/// its default; `EVERYTAB_LOG_FORMAT=json` writes JSON; `NO_COLOR` is obeyed.
pub fn start(default: &str) {
    let filter = std::env::var("EVERYTAB_LOG").unwrap_or_else(|_| default.to_owned());
    // Libraries that log each refusal of the web as an error of theirs are kept quiet.
    let quiet =
        "hickory_proto=off,hickory_resolver=off,hyper=warn,usvg=off,aws_config=warn,sqlx=warn";
    let filter = EnvFilter::try_new(format!("{filter},{quiet}"))
        .unwrap_or_else(|_| EnvFilter::new(format!("info,{quiet}")));
    let registry = tracing_subscriber::registry().with(filter);
    let is_json = std::env::var("EVERYTAB_LOG_FORMAT").is_ok_and(|format| format == "json");
    let layer = fmt::layer().with_writer(std::io::stderr).with_target(false);
    // A second start in one process (tests) leaves the first in place.
    let _ = if is_json {
        registry.with(layer.json()).try_init()
    } else {
        let has_color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        registry.with(layer.with_ansi(has_color).compact()).try_init()
    };
}
