//! Every icon of the recorded corpus: decoded or refused with a reason, and held against what
//! another decoder made of it. Prints a table by format (`--nocapture`).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use everytab_bundler::convert::to_tab_icon;
use everytab_bundler::decode::decode;
use everytab_bundler::{IconError, Pixels};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The corpus folder, or a line that says why the test does nothing.
#[allow(
    clippy::disallowed_methods,
    reason = "tests read the corpus; the crate itself reads nothing"
)]
fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    let folder = std::env::var_os("EVERYTAB_CORPUS").map_or(beside, PathBuf::from);
    if folder.join("icons").is_dir() {
        return Some(folder);
    }
    println!("skipped: no corpus at {}", folder.display());
    None
}

/// Name (`icons/png/x.png`) and bytes of every icon, sorted.
#[allow(
    clippy::disallowed_methods,
    reason = "tests read the corpus; the crate itself reads nothing"
)]
fn icons(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut icons = Vec::new();
    for format in std::fs::read_dir(folder.join("icons")).unwrap() {
        for file in std::fs::read_dir(format.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            icons.push((name, std::fs::read(&path).unwrap()));
        }
    }
    icons.sort();
    icons
}

#[derive(Default)]
struct Row {
    files: usize,
    decoded: usize,
    refused: usize,
    /// Pillow or libvips decoded it too: sides compared, and equal.
    sides: (usize, usize),
    /// Pixels compared, and equal.
    pixels: (usize, usize),
    source_bytes: usize,
    png_bytes: usize,
    microseconds: u128,
}

fn rgba_sha256(pixels: &Pixels) -> String {
    Sha256::digest(pixels.rgba()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the reference decoder said, if it decoded the file.
fn reference<'a>(expected: &'a Value, key: &str) -> Option<&'a Value> {
    let reference = expected.get(key)?;
    (reference["ok"] == true).then_some(reference)
}

#[test]
fn every_icon_of_the_corpus_decodes_or_is_refused_with_a_reason() {
    let Some(folder) = corpus() else { return };
    let verbose = option_env!("EVERYTAB_VERBOSE").is_some();
    #[allow(clippy::disallowed_methods, reason = "tests read the corpus")]
    let expected = std::fs::read(folder.join("expected/icons.json")).unwrap();
    let expected: HashMap<String, Value> = serde_json::from_slice(&expected).unwrap();
    let mut table: BTreeMap<String, Row> = BTreeMap::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (name, bytes) in icons(&folder) {
        let group = name.split('/').nth(1).unwrap().to_owned();
        let row = table.entry(group.clone()).or_default();
        row.files += 1;
        let decoded = decode(&bytes);
        #[allow(clippy::disallowed_types, reason = "a measurement for people, nothing is asserted")]
        let started = std::time::Instant::now();
        let icon = to_tab_icon(&bytes);
        row.microseconds += started.elapsed().as_micros();
        if let Ok(icon) = &icon {
            row.source_bytes += bytes.len();
            row.png_bytes += icon.png.len();
        }
        let known = expected.get(&name).unwrap_or(&Value::Null);
        match &decoded {
            Err(error) => {
                row.refused += 1;
                assert!(!matches!(error, IconError::DecoderPanicked { .. }), "{name}: {error}");
                *kinds.entry(format!("{group} {}", error.kind())).or_default() += 1;
                if verbose && known["pillow"]["ok"] == true || known["vips"]["ok"] == true {
                    println!("REFUSED {name}: {error}");
                }
            }
            Ok((measured, pixels)) => {
                row.decoded += 1;
                if let Some(pillow) = reference(known, "pillow") {
                    let sides = (pillow["w"].as_u64(), pillow["h"].as_u64());
                    let ours = (Some(pixels.width().into()), Some(pixels.height().into()));
                    row.sides.0 += 1;
                    row.sides.1 += usize::from(sides == ours);
                    if sides == ours {
                        row.pixels.0 += 1;
                        let same = pillow["rgba_sha256"] == rgba_sha256(pixels).as_str();
                        row.pixels.1 += usize::from(same);
                        if verbose && !same {
                            println!("PIXELS {name} {} {}", pillow["mode"], pillow["mean_premul"]);
                        }
                    } else if verbose {
                        println!("SIDES {name}: {sides:?} {ours:?} {measured:?}");
                    }
                }
            }
        }
    }
    for (group, row) in &table {
        println!(
            "{group:>7}: {:>5} files {:>5} decoded {:>4} refused, sides {}/{}, pixels {}/{}, \
             {} -> {} bytes, {} us/icon",
            row.files,
            row.decoded,
            row.refused,
            row.sides.1,
            row.sides.0,
            row.pixels.1,
            row.pixels.0,
            row.source_bytes,
            row.png_bytes,
            row.microseconds / row.files as u128,
        );
    }
    println!("{kinds:#?}");
}
