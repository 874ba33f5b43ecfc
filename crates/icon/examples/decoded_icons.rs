//! Writes what this crate makes of every file below a folder, for programs that compare it.
//!
//!     decoded_icons FOLDER OUT.jsonl
//!
//! OUT has a line a file: path, kind and reason (why there is no tab icon, else null), width and
//! height of the decoded picture, and fitted: the picture in 32x32 pixels before it is encoded,
//! {width, height, rgba: base64 of straight RGBA}. A file that cannot be decoded has none of these.
//! A picture that decodes and is refused later (too small, transparent) has all.
// A measuring program reads files, and must stop at a broken one.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use everytab_icon::{
    convert::to_tab_icon, decode::decode, limits::TAB_ICON_PIXELS, scale::scale_down,
};
use serde_json::{Value, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, out] = args.as_slice() else {
        eprintln!("usage: decoded_icons FOLDER OUT.jsonl");
        std::process::exit(2);
    };
    let mut files = Vec::new();
    collect(Path::new(folder), &mut files);
    files.sort();
    let mut lines = String::new();
    for file in files {
        let path = file.strip_prefix(folder).unwrap().display().to_string();
        writeln!(lines, "{}", line(&path, &std::fs::read(&file).unwrap())).unwrap();
    }
    std::fs::write(out, lines).unwrap();
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn line(path: &str, bytes: &[u8]) -> Value {
    let refused = to_tab_icon(bytes).err();
    let mut line = json!({
        "path": path,
        "kind": refused.as_ref().map(|error| error.kind()),
        "reason": refused.map(|error| error.to_string()),
    });
    let Ok((_, pixels)) = decode(bytes) else { return line };
    line["width"] = pixels.width().into();
    line["height"] = pixels.height().into();
    let fitted = scale_down(pixels, TAB_ICON_PIXELS);
    line["fitted"] = json!({
        "width": fitted.width(),
        "height": fitted.height(),
        "rgba": STANDARD.encode(fitted.rgba()),
    });
    line
}
