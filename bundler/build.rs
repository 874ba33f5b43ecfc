//! Embeds the page (the directory `site/`) as `SITE_FILES`.

#![allow(clippy::disallowed_methods, reason = "a build script reads files; the library does not")]

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let site = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../site").canonicalize()?;
    let mut files = Vec::new();
    for folder in ["", "css", "icons", "js"] {
        println!("cargo::rerun-if-changed={}", site.join(folder).display());
        for entry in fs::read_dir(site.join(folder))? {
            let path = entry?.path();
            // JSON files here configure servers and tests, and are not published.
            if path.is_file() && path.extension().is_none_or(|extension| extension != "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut code = String::from("const SITE_FILES: &[(&str, &[u8])] = &[\n");
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&site)?.display().to_string();
        writeln!(code, "({name:?}, include_bytes!({:?})),", file.display().to_string())?;
    }
    code.push_str("];\n");
    let file = Path::new(&env::var("OUT_DIR")?).join("site.rs");
    // Remove the file first. A copy of the target directory may share it through a hard link, and
    // would otherwise get this checkout's paths.
    let _ = fs::remove_file(&file);
    fs::write(file, code)?;
    Ok(())
}
