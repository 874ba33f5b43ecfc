//! Writes this crate's results for every file in a list, so that other programs can compare them.
//!
//!     decoded_icons PATHS OUT.jsonl
//!
//! PATHS contains one path per line. OUT has one JSON object per file with these fields:
//! - `path`: the file's path
//! - `kind` and `reason`: why there is no tab icon, or null if there is one
//! - `width` and `height`: the dimensions after decoding
//! - `fitted`: the picture in at most 32x32 pixels before encoding, as `{width, height, rgba}` with
//!   straight RGBA in base64
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::unwrap_used)]

use std::{
    fs::File,
    io::{BufWriter, Write},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use everytab_icon::{
    convert::to_tab_icon, decode::decode, limits::TAB_ICON_PIXELS, scale::scale_down,
};
use serde_json::{Value, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [paths, out] = args.as_slice() else {
        eprintln!("usage: decoded_icons PATHS OUT.jsonl");
        std::process::exit(2);
    };
    let paths = std::fs::read_to_string(paths).unwrap();
    let mut out = BufWriter::new(File::create(out).unwrap());
    for path in paths.lines() {
        writeln!(out, "{}", line(path, &std::fs::read(path).unwrap())).unwrap();
    }
    out.flush().unwrap();
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
