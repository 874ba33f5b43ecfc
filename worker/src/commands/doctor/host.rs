//! The machine: open files, memory, temporary files, the resolver, Postgres's binaries.

use std::{io::Write, path::PathBuf};

use everytab_fetcher::{Fetcher, Trouble};
use everytab_postgres::{PostgresSettings, PrivatePostgres};

use super::check::Check;
use crate::{
    capacity::{self, Capacity},
    limits,
    options::FetchArgs,
};

/// Whether there is room for so many requests at once.
pub(super) fn capacities(in_flight: usize) -> Vec<Check> {
    let check = |room: Capacity| {
        let found = room.said(in_flight);
        match room.requests() >= in_flight {
            true => Check::ok(room.name, found),
            false => Check::fail(room.name, found, room.remedy),
        }
    };
    capacity::capacities().into_iter().map(check).collect()
}

pub(super) fn temporary(folder: Option<PathBuf>) -> Check {
    const NAME: &str = "temporary files";
    let folder = folder.unwrap_or_else(std::env::temp_dir);
    let shown = folder.display();
    let remedy = "set --temporary to a folder that this user may write";
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| tempfile::NamedTempFile::new_in(&folder))
        .and_then(|mut probe| probe.write_all(&[0; 4_096]));
    if let Err(error) = written {
        return Check::fail(NAME, format!("{shown} cannot be written: {error}"), remedy);
    }
    let wanted = limits::SPOOL_BYTES >> 20;
    match space::free_bytes(&folder).map(|free| free >> 20) {
        Some(free) if free >= wanted => Check::ok(NAME, format!("{shown} has {free} MiB free")),
        Some(free) => Check::fail(
            NAME,
            format!("{shown} has {free} MiB free, the icons of one shard may take {wanted}"),
            "make room, or set --temporary to a larger disk",
        ),
        None => Check::ok(NAME, format!("{shown} can be written, its free space is not known")),
    }
}

mod space {
    //! The one system call that std does not have.
    #![allow(unsafe_code)]

    use std::{ffi::CString, mem::MaybeUninit, os::unix::ffi::OsStrExt, path::Path};

    /// Bytes that this user may still write to the file system of `path`.
    pub(super) fn free_bytes(path: &Path) -> Option<u64> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        let mut found = MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the path ends with a NUL, and statvfs writes one struct to the address of one.
        if unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: statvfs has answered 0, so it has filled the struct.
        let found = unsafe { found.assume_init() };
        found.f_frsize.checked_mul(found.f_bavail)
    }
}

/// Sets up a fetcher as a worker does, and looks a name up.
pub(super) async fn resolver(args: &FetchArgs, name: &str) -> Vec<Check> {
    args.warn();
    let fetcher = match Fetcher::new(args.settings()) {
        Ok(fetcher) => fetcher,
        Err(error) => {
            let remedy = "correct the option or file that the line names";
            return vec![Check::fail("fetcher", error.to_string(), remedy)];
        }
    };
    let who = args.dns.map_or("the system's resolver".to_owned(), |dns| dns.to_string());
    let looked_up = fetcher.check_network(&[name.to_owned()]).await;
    let check = match looked_up {
        Ok(()) => Check::ok("resolver", format!("{who} has an address for {name}")),
        Err(Trouble::MostOriginsFail) => Check::fail(
            "resolver",
            format!("{who} answers, but has no address for {name}"),
            "check its way to the internet, or --look-up a name that it should know",
        ),
        Err(trouble) => Check::fail(
            "resolver",
            format!("{who}: {trouble}"),
            "check /etc/resolv.conf or give --dns ADDR:PORT",
        ),
    };
    vec![Check::ok("fetcher", "certificates and settings are usable"), check]
}

/// Starts a private server as `local` does, and stops it again.
pub(super) async fn private_postgres(temporary: Option<PathBuf>) -> Check {
    let started = tokio::task::spawn_blocking(move || {
        let parent = temporary.unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::TempDir::new_in(&parent)
            .map_err(|error| format!("no folder in {}: {error}", parent.display()))?;
        let settings = PostgresSettings::new(folder.path().join("postgres"));
        let server = PrivatePostgres::start(settings).map_err(|error| error.to_string())?;
        let version = server.psql("postgres", "show server_version");
        server.stop().map_err(|error| error.to_string())?;
        version.map_err(|error| error.to_string())
    });
    let remedy = "install Postgres 15 or newer (its initdb and postgres programs)";
    match started.await {
        Ok(Ok(version)) => {
            let found = format!("Postgres {} starts and stops", version.trim());
            Check::ok("private server", found)
        }
        Ok(Err(error)) => Check::fail("private server", error, remedy),
        Err(error) => Check::fail("private server", error.to_string(), remedy),
    }
}
