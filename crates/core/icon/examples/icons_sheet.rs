//! Writes a contact sheet. For each icon it shows the original as drawn by the browser, and the tab
//! icon with all colours, with the setting `auto`, and with at most 64 colours.
//!
//!     icons_sheet FOLDER SHEET.html [all|merged|FORMAT] [FROM] [COUNT]
//!     icons_sheet FOLDER OUT decoded
//!
//! FOLDER contains a directory of icons for each format, like the corpus. `merged` shows only icons
//! whose colours a palette changes, with the largest differences first. The numbers below such an
//! icon are the mean and the worst difference in hundredths, the version that `auto` chooses, and
//! the file sizes.
//!
//! The second form writes the decoded pixels without scaling to OUT/FORMAT/NAME.png, and the
//! reasons for rejected icons to OUT/refused.tsv.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use everytab_icon::{
    convert::to_tab_icon_with,
    decode::decode,
    limits::TAB_ICON_PIXELS,
    png::{Colours, Difference, encode},
    scale::scale_down,
    sniff::sniff,
};

const STYLE: &str = "<!doctype html><meta charset=utf-8><style>\
    body{font:9px sans-serif;margin:4px}figure{display:inline-block;margin:2px;width:272px;\
    overflow:hidden;vertical-align:top}figcaption{white-space:nowrap}\
    img{width:64px;height:64px;object-fit:contain;object-position:0 0;margin:1px;\
    image-rendering:pixelated;background:linear-gradient(90deg,#fff 50%,#000 50%)}</style>";

struct Icon {
    name: String,
    images: String,
    difference: Option<Difference>,
    note: String,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, sheet, rest @ ..] = args.as_slice() else {
        eprintln!("usage: icons_sheet FOLDER SHEET.html [all|merged|FORMAT] [FROM] [COUNT]");
        std::process::exit(2);
    };
    let which = rest.first().map_or("all", String::as_str);
    if which == "decoded" {
        return decoded(Path::new(folder), Path::new(sheet));
    }
    let number = |place: usize| rest.get(place).and_then(|text| text.parse().ok());
    let mut icons: Vec<Icon> = files(Path::new(folder))
        .iter()
        .filter(|path| matches!(which, "all" | "merged") || path.parent().unwrap().ends_with(which))
        .map(|path| icon(path))
        .filter(|icon| which != "merged" || icon.difference.is_some())
        .collect();
    icons.sort_by(|one, other| {
        other.difference.cmp(&one.difference).then_with(|| one.name.cmp(&other.name))
    });
    let mut html = STYLE.to_owned();
    let (from, count) = (number(1).unwrap_or(0), number(2).unwrap_or(usize::MAX));
    for Icon { name, images, note, .. } in icons.iter().skip(from).take(count) {
        write!(html, "<figure>{images}<figcaption>{note} {name}</figcaption></figure>").unwrap();
    }
    std::fs::write(sheet, html).unwrap();
    eprintln!("{} icons", icons.len());
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .flat_map(|format| std::fs::read_dir(format.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
}

fn decoded(folder: &Path, out: &Path) {
    let mut refused = String::new();
    for path in files(folder) {
        let name = path.strip_prefix(folder).unwrap();
        let target = out.join(format!("{}.png", name.display()));
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        match decode(&std::fs::read(&path).unwrap()) {
            Ok((_, pixels)) => std::fs::write(target, encode(&pixels)).unwrap(),
            Err(error) => writeln!(refused, "{}\t{error}", name.display()).unwrap(),
        }
    }
    std::fs::write(out.join("refused.tsv"), refused).unwrap();
}

fn icon(path: &Path) -> Icon {
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().replace(['<', '&'], "");
    let image = |kind: &str, bytes: &[u8]| {
        format!("<img src='data:{kind};base64,{}'>", STANDARD.encode(bytes))
    };
    let kind = sniff(&bytes).map_or("image/png", |format| format.content_type());
    let mut images = image(kind, &bytes);
    let mut icons = Vec::new();
    for colours in [Colours::Lossless, Colours::Auto, Colours::Palette] {
        match to_tab_icon_with(&bytes, colours) {
            Ok(icon) => {
                images.push_str(&image("image/png", &icon.png));
                icons.push(icon);
            }
            Err(error) => return Icon { name, images, difference: None, note: error.to_string() },
        }
    }
    let small = |bytes: &[u8]| {
        scale_down(decode(bytes).unwrap().1, TAB_ICON_PIXELS).with_clean_transparency()
    };
    let difference = Difference::between(&small(&bytes), &small(&icons[2].png));
    let merged = difference.worst > 0;
    let taken = if icons[1].png == icons[0].png { "lossless" } else { "merged" };
    let lengths: Vec<String> = icons.iter().map(|icon| icon.png.len().to_string()).collect();
    let note = if merged {
        let Difference { mean, worst } = difference;
        format!("{mean} {worst} {taken} {}", lengths.join("/"))
    } else {
        format!("exact {}", lengths[0])
    };
    Icon { name, images, difference: merged.then_some(difference), note }
}
