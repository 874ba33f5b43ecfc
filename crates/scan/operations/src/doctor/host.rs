//! Checks this host: open files, memory, temporary files, decoders, the resolver.

use std::{io::Write, path::Path};

use everytab_fetcher::{FetchSettings, Fetcher, capacity};
use everytab_jobs::{SPOOL_BYTES, icon_processes};
use everytab_sandbox::Confinement;

use super::check::Check;

/// Checks that open files and memory suffice for this many requests in flight.
pub fn capacities(in_flight: usize) -> Vec<Check> {
    let check = |capacity: capacity::Capacity| {
        let found = capacity.describe(in_flight);
        if capacity.requests() >= in_flight {
            Check::ok(capacity.name, found)
        } else {
            Check::fail(capacity.name, found, capacity.remedy)
        }
    };
    capacity::capacities().into_iter().map(check).collect()
}

/// Checks that temporary files can be written to `folder`, with room for one shard's icons.
pub fn temporary(folder: &Path) -> Check {
    const NAME: &str = "temporary files";
    let shown = folder.display();
    let remedy = "set --temporary to a directory that this user may write to";
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| tempfile::NamedTempFile::new_in(folder))
        .and_then(|mut probe| probe.write_all(&[0; 4_096]));
    if let Err(error) = written {
        return Check::fail(NAME, format!("{shown} cannot be written: {error}"), remedy);
    }
    let wanted = SPOOL_BYTES >> 20;
    match space::free_bytes(folder).map(|free| free >> 20) {
        Some(free) if free >= wanted => Check::ok(NAME, format!("{shown} has {free} MiB free")),
        Some(free) => Check::fail(
            NAME,
            format!("{shown} has {free} MiB free, the icons of one shard may take {wanted}"),
            "make room, or set --temporary to a larger disk",
        ),
        None => Check::ok(NAME, format!("{shown} can be written; its free space is unknown")),
    }
}

/// Checks that icons can be decoded in sandboxed processes, and reports the kind of sandbox.
pub fn decoders() -> Check {
    const NAME: &str = "decoders";
    match icon_processes::sandbox().confinement() {
        Ok(Confinement::SeccompAndLandlock) => Check::ok(NAME, "confined by seccomp and landlock"),
        Ok(Confinement::SeccompAlone) => Check::ok(
            NAME,
            "confined by seccomp alone: this kernel has no landlock, or it is off (boot with lsm=)",
        ),
        Err(error) => Check::fail(
            NAME,
            error.to_string(),
            "allow the system calls prlimit64, seccomp and landlock_*, as Debian's kernel does",
        ),
    }
}

mod space {
    //! A system call that the standard library does not provide.
    #![allow(unsafe_code)]

    use std::{ffi::CString, mem::MaybeUninit, os::unix::ffi::OsStrExt, path::Path};

    pub(super) fn free_bytes(path: &Path) -> Option<u64> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        let mut found = MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the path ends with a NUL, and statvfs writes one struct to the given address.
        if unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: statvfs returned 0, so it has filled the struct.
        let found = unsafe { found.assume_init() };
        found.f_frsize.checked_mul(found.f_bavail)
    }
}

/// Creates a fetcher as a worker does, resolves a name, and checks the resolver's answers for names
/// that exist.
pub async fn resolver(settings: FetchSettings, name: &str) -> Vec<Check> {
    let dns = settings.dns;
    let fetcher = match Fetcher::new(settings) {
        Ok(fetcher) => fetcher,
        Err(error) => {
            let remedy = "correct the option or file that this line names";
            return vec![Check::fail("fetcher", error.to_string(), remedy)];
        }
    };
    let who = dns.map_or("the system's resolver".to_owned(), |dns| dns.to_string());
    let check = match fetcher.has_address(name).await {
        Ok(true) => Check::ok("resolver", format!("{who} has an address for {name}")),
        Ok(false) => Check::fail(
            "resolver",
            format!("{who} has no address for {name}"),
            "check its connection, or set --look-up to a name that it should resolve",
        ),
        Err(trouble) => Check::fail(
            "resolver",
            format!("{who}: {trouble}"),
            "check /etc/resolv.conf or give --dns ADDR:PORT",
        ),
    };
    let names = known_names(&fetcher, &who).await;
    vec![Check::ok("fetcher", "certificates and settings are usable"), check, names]
}

async fn known_names(fetcher: &Fetcher, who: &str) -> Check {
    const NAME: &str = "known names";
    let names = fetcher.known_names().join(", ");
    match fetcher.check_network().await {
        Ok(()) => Check::ok(
            NAME,
            format!("{who} resolves {names}, and returns NXDOMAIN for a made-up name"),
        ),
        Err(trouble) => Check::fail(
            NAME,
            format!("{who}: {}", fetcher.resolver_fault().unwrap_or_else(|| trouble.to_string())),
            "use a resolver that does not filter (--dns ADDR:PORT, or /etc/resolv.conf); icons \
             wait for it. If it is right, give other --known-names",
        ),
    }
}
