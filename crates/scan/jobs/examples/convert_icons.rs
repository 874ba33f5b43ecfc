//! Compares the time to convert icons in child processes with the time in this process, in batches
//! like those of a bundle-shard job.
//!
//!     convert_icons FOLDER [ROUNDS]     every file below FOLDER is an icon
//!
//! Prints the microseconds per icon for both ways in each round, on one thread, their ratio, and
//! the medians.
// This benchmark reads files and a clock, and a broken file should stop it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::LazyLock,
    time::Instant,
};

use everytab_bundler::map::BACKGROUND;
use everytab_icon::{
    convert::{TabIcon, to_tab_icon_with},
    png::Colours,
    thumbnail::thumbnail,
};
use everytab_jobs::icon_processes;
use everytab_sandbox::Sandbox;

/// Icons per batch, about as many as 16 hosts have.
const BATCH: usize = 16;

fn main() -> ExitCode {
    if let Some(exit) = icon_processes::serve_if_asked() {
        return exit;
    }
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: convert_icons FOLDER [ROUNDS]");
        return ExitCode::from(2);
    };
    let rounds = arguments.next().map_or(5, |rounds| rounds.parse().unwrap());
    let mut files = Vec::new();
    files_below(Path::new(&folder), &mut files);
    // Each directory holds one format, so this order mixes formats in a batch.
    files.sort_by_cached_key(|file| file.file_name().map(|name| name.to_owned()));
    let icons: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 0..rounds {
        let (here, apart) = (timed(&icons, convert_here), timed(&icons, convert_apart));
        assert_eq!(here.1, apart.1, "the same icons");
        println!("round {round}: {:.1} us here, {:.1} us apart", here.0, apart.0);
        for (times, time) in times.iter_mut().zip([here.0, apart.0, apart.0 / here.0]) {
            times.push(time);
        }
    }
    let [here, apart, ratio] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!("{} icons, medians: {here:.1} us here, {apart:.1} us apart, {ratio:.3}", icons.len());
    ExitCode::SUCCESS
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}

fn timed(icons: &[Vec<u8>], convert: fn(&[&[u8]]) -> usize) -> (f64, usize) {
    let begun = Instant::now();
    let bytes = icons
        .chunks(BATCH)
        .map(|batch| convert(&batch.iter().map(Vec::as_slice).collect::<Vec<_>>()))
        .sum();
    (begun.elapsed().as_secs_f64() * 1e6 / icons.len() as f64, bytes)
}

fn convert_here(icons: &[&[u8]]) -> usize {
    let bytes = |icon: TabIcon| {
        black_box(thumbnail(&icon.png, BACKGROUND));
        icon.png.len()
    };
    let converted = icons.iter().filter_map(|icon| to_tab_icon_with(icon, Colours::Auto).ok());
    converted.map(bytes).sum()
}

fn convert_apart(icons: &[&[u8]]) -> usize {
    static SANDBOX: LazyLock<Sandbox> = LazyLock::new(icon_processes::sandbox);
    let mut bytes = 0;
    let converted = icon_processes::convert(&SANDBOX, icons, Colours::Auto, |_, icon| {
        bytes += icon.map_or(0, |converted| converted.icon.png.len());
    });
    converted.unwrap();
    bytes
}
