//! Embeds the SQL files as the constants `MIGRATIONS`, `FUNCTIONS` and `GRANTS`.

use std::{env, fmt::Write as _, fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = env::var("CARGO_MANIFEST_DIR")?;
    let mut code = String::new();
    for (constant, folder) in [("MIGRATIONS", "migrations"), ("FUNCTIONS", "functions")] {
        writeln!(code, "pub(super) const {constant}: &[(&str, &str)] = &[")?;
        for folder in with_subfolders(&root, folder)? {
            println!("cargo::rerun-if-changed={folder}");
            for file in sql_files(&Path::new(&root).join(&folder))? {
                writeln!(code, "({file:?}, include_str!(r\"{root}/{folder}/{file}\")),")?;
            }
        }
        writeln!(code, "];")?;
    }
    println!("cargo::rerun-if-changed=grants.sql");
    writeln!(code, "pub(super) const GRANTS: &str = include_str!(r\"{root}/grants.sql\");")?;
    let file = Path::new(&env::var("OUT_DIR")?).join("sql.rs");
    // A copy of the target directory may share this file by a hard link. If we overwrote it, the
    // copy would contain this checkout's paths.
    let _ = fs::remove_file(&file);
    fs::write(file, code)?;
    Ok(())
}

/// Returns a directory and its subdirectories, sorted by name.
fn with_subfolders(root: &str, folder: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut folders = vec![folder.to_owned()];
    for entry in fs::read_dir(Path::new(root).join(folder))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(format!("{folder}/{}", entry.file_name().to_string_lossy()));
        }
    }
    folders.sort();
    Ok(folders)
}

fn sql_files(folder: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut names = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".sql") {
                names.push(name);
            }
        }
    }
    names.sort();
    Ok(names)
}
