//! Decodes every icon in the recorded corpus, and compares the pixels with other decoders' pixels.
//! Prints a table by format (`--nocapture`).

mod suites;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use everytab_icon::{
    Format, IconError, Pixels, convert::to_tab_icon, decode::decode, inspect::inspect_icon,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// If the corpus does not exist, prints a line and returns `None`.
#[allow(
    clippy::disallowed_methods,
    reason = "tests read the corpus; the crate itself reads nothing"
)]
fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/corpus");
    let folder = std::env::var_os("EVERYTAB_CORPUS").map_or(beside, PathBuf::from);
    if folder.join("icons").is_dir() {
        return Some(folder);
    }
    println!("skipped: no corpus at {}", folder.display());
    None
}

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

#[allow(clippy::disallowed_methods, reason = "tests read the corpus; the crate reads nothing")]
fn expected(folder: &Path) -> HashMap<String, Value> {
    let bytes = std::fs::read(folder.join("expected/icons.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[derive(Default)]
struct Row {
    files: usize,
    decoded: usize,
    refused: usize,
    sides: Share,
    pixels: Share,
    source_bytes: usize,
    png_bytes: usize,
    converted: usize,
    microseconds: u128,
}

#[derive(Default)]
struct Share {
    compared: usize,
    equal: usize,
}

impl Share {
    fn count(&mut self, equal: bool) {
        self.compared += 1;
        self.equal += usize::from(equal);
    }
}

fn rgba_sha256(pixels: &Pixels) -> String {
    Sha256::digest(pixels.rgba()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn mean_premultiplied(pixels: &Pixels) -> [f64; 4] {
    let mut sums = [0.0; 4];
    let mut count = 0.0;
    for [red, green, blue, alpha] in pixels.iter() {
        let share = f64::from(alpha) / 255.0;
        for (sum, channel) in sums.iter_mut().zip([red, green, blue]) {
            *sum += f64::from(channel) * share;
        }
        sums[3] += f64::from(alpha);
        count += 1.0;
    }
    sums.map(|sum| sum / count)
}

fn means_near(expected: &Value, pixels: &Pixels, tolerance: f64) -> bool {
    let expected: Vec<f64> =
        expected.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    let ours = mean_premultiplied(pixels);
    ours.iter().zip(expected).all(|(ours, expected)| (ours - expected).abs() <= tolerance)
}

/// Returns the reason why pixels may differ from Pillow's. `None` if they must be equal.
fn known_difference(name: &str, reference: &Value, pixels: &Pixels) -> Option<&'static str> {
    let mode = reference["mode"].as_str().unwrap_or("");
    let means = &reference["mean_premul"];
    if mode == "I;16" {
        return Some("Pillow clips 16-bit grey");
    }
    if mode == "CMYK" && means_near(means, pixels, 4.0) {
        return Some("Pillow converts CMYK differently");
    }
    if name.contains("/bmp/") && name.contains("rle") {
        return Some("pixels that no run sets are black here, as in Chromium");
    }
    if name.contains("/bmp/") && means_near(means, pixels, 1.0) {
        return Some("Pillow truncates when it converts 5 bits to 8, we round");
    }
    if name.contains("/gif/") && means_near(means, pixels, 1.0) {
        return Some("colour under alpha 0");
    }
    let listed = [
        ("rgba16-5551.bmp", "Pillow ignores the alpha bit"),
        ("invalid-data-offset.bmp", "we accept offset 0, as in Chromium"),
        ("ff-0RGB.ico", "alpha all zero: browsers use the mask"),
        ("1404366-1.ico", "alpha all zero: browsers use the mask"),
        ("nike.ico", "depth 0 in the directory: Pillow uses the mask, we use alpha"),
        ("96327a73", "depth 0 in the directory: Pillow uses the mask, we use alpha"),
        ("1509998.gif", "background outside the first frame is transparent, as in browsers"),
        ("first-frame-padding", "background outside the first frame is transparent"),
        ("tiletest.gif", "background outside the first frame is transparent"),
        ("transparent.png", "Pillow ignores tRNS in grey pictures"),
        ("infinite-apng.png", "Pillow shows the default image, which is not a frame"),
        ("blend.webp", "Pillow composes the first frame on its canvas differently"),
    ];
    listed.iter().find(|(part, _)| name.contains(part)).map(|(_, why)| *why)
}

/// Returns a description of an unexpected difference from Pillow's frames.
fn compare(row: &mut Row, name: &str, known: &Value, pixels: &Pixels) -> Option<String> {
    let pillow = &known["pillow"];
    if pillow["ok"] != true {
        return None;
    }
    let same_sides = |reference: &&Value| {
        let sides = (reference["w"].as_u64(), reference["h"].as_u64());
        sides == (Some(pixels.width().into()), Some(pixels.height().into()))
    };
    let first = std::slice::from_ref(pillow);
    let frames = pillow["frames"].as_array().map_or(first, Vec::as_slice);
    let candidates: Vec<&Value> = frames.iter().filter(same_sides).collect();
    if candidates.is_empty() && in_directory(known, pixels) {
        return None;
    }
    row.sides.count(!candidates.is_empty());
    if candidates.is_empty() {
        return Some(format!("{name}: sides {}x{}", pixels.width(), pixels.height()));
    }
    let ours = rgba_sha256(pixels);
    let equal = candidates.iter().any(|frame| frame["rgba_sha256"] == ours.as_str());
    row.pixels.count(equal);
    let excused = equal || known_difference(name, pillow, pixels).is_some();
    (!excused).then(|| format!("{name}: pixels differ"))
}

fn in_directory(known: &Value, pixels: &Pixels) -> bool {
    let entries = known["entries"].as_array().map_or(&[][..], Vec::as_slice);
    entries.iter().any(|entry| {
        let sides = (entry["bmp_w"].as_u64(), entry["bmp_h2"].as_u64().map(|rows| rows / 2));
        sides == (Some(pixels.width().into()), Some(pixels.height().into()))
    })
}

#[test]
fn every_corpus_icon_decodes_or_is_rejected_with_a_reason() {
    let Some(folder) = corpus() else { return };
    let expected = expected(&folder);
    let mut table: BTreeMap<String, Row> = BTreeMap::new();
    let mut refusals: BTreeMap<String, usize> = BTreeMap::new();
    let mut differences = Vec::new();
    for (name, bytes) in icons(&folder) {
        let group = name.split('/').nth(1).unwrap().to_owned();
        let row = table.entry(group.clone()).or_default();
        row.files += 1;
        #[allow(clippy::disallowed_types, reason = "a measurement for people, none is asserted")]
        let started = std::time::Instant::now();
        let icon = to_tab_icon(&bytes);
        row.microseconds += started.elapsed().as_micros();
        if let Ok(icon) = &icon {
            row.converted += 1;
            row.source_bytes += bytes.len();
            row.png_bytes += icon.png.len();
            assert!(icon.width.max(icon.height) <= 32, "{name}");
        }
        match decode(&bytes) {
            Err(error) => {
                row.refused += 1;
                assert!(!matches!(error, IconError::DecoderPanicked { .. }), "{name}: {error}");
                *refusals.entry(format!("{group}: {}", error.kind())).or_default() += 1;
            }
            Ok((_, pixels)) => {
                row.decoded += 1;
                let known = expected.get(&name).unwrap_or(&Value::Null);
                differences.extend(compare(row, &name, known, &pixels));
            }
        }
    }
    for (group, row) in &table {
        println!(
            "{group:>7}: {:>5} files {:>5} decoded {:>4} refused; sides {}/{}, pixels {}/{}; \
             {} icons, {} -> {} bytes each, {} us each",
            row.files,
            row.decoded,
            row.refused,
            row.sides.equal,
            row.sides.compared,
            row.pixels.equal,
            row.pixels.compared,
            row.converted,
            row.source_bytes / row.converted.max(1),
            row.png_bytes / row.converted.max(1),
            row.microseconds / row.files as u128,
        );
    }
    println!("{refusals:#?}\n{differences:#?}");
    assert_eq!(differences, Vec::<String>::new(), "differences without a known reason");
    assert_minimum_counts(&table);
}

fn assert_minimum_counts(table: &BTreeMap<String, Row>) {
    let floors = [
        ("bmp", 131),
        ("gif", 111),
        ("ico", 320),
        ("jpeg", 174),
        ("png", 1997),
        ("svg", 741),
        ("webp", 122),
    ];
    for (group, floor) in floors {
        let decoded = table.get(group).map_or(0, |row| row.decoded);
        assert!(decoded >= floor, "{group}: {decoded} decoded, expected at least {floor}");
    }
}

#[test]
fn scaled_icons_have_the_dimensions_and_mean_colour_of_another_scaler() {
    let Some(folder) = corpus() else { return };
    let expected = expected(&folder);
    let (mut sides, mut means) = (Share::default(), Share::default());
    for (name, bytes) in icons(&folder) {
        let Some(vips) = expected.get(&name).map(|known| &known["vips"]) else { continue };
        let Ok((measured, pixels)) = decode(&bytes) else { continue };
        if vips["ok"] != true || measured.format != Format::Svg {
            continue;
        }
        let (width, height) = (pixels.width().into(), pixels.height().into());
        let near = |value: &Value, side: i64| (value.as_i64().unwrap() - side).abs() <= 1;
        let same = near(&vips["thumb32"][0], width) && near(&vips["thumb32"][1], height);
        sides.count(same);
        means.count(means_near(&vips["mean_premul"], &pixels, 8.0));
    }
    println!(
        "svg against librsvg: sides {}/{}, mean colour {}/{}",
        sides.equal, sides.compared, means.equal, means.compared
    );
    assert!(sides.equal * 100 >= sides.compared * 98);
    assert!(means.equal * 100 >= means.compared * 95);
}

#[test]
fn every_corpus_file_gives_an_inspect_report() {
    let Some(folder) = corpus() else { return };
    for (name, bytes) in icons(&folder) {
        let report = inspect_icon(&name, &bytes);
        assert_eq!(report.error.is_none(), report.png_base64.is_some(), "{name}");
        assert_eq!(report.bytes, bytes.len());
        let line = serde_json::to_string(&report).unwrap();
        assert!(!line.contains('\n'), "{name}");
    }
}
