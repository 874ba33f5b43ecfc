//! `list import`: converts public name or country lists into objects for crawl filters.
//!
//! It reads the UT1 layout (University of Toulouse: a directory or tar file with files named
//! `domains` and `urls` per category), hosts files, plain lists, and the regional internet
//! registries' files. Names in a tar file are never used as paths for writing.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use everytab_console::{LineSink, OperationError};
use everytab_coordinator::{Coordinator, NewFilterList};
use everytab_filters::{
    CountryRanges, CountryRangesBuilder, ListBytes, ListFileKind, ListKind, MAX_LIST_LINE_BYTES,
    NameList, NameListBuilder, TooManyEntries, check_filter_name,
};
use everytab_storage::{PutOptions, StoreSettings};
use flate2::bufread::GzDecoder;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Maximum unpacked bytes in an import's files. The import fails beyond this limit. A tar file's
/// skipped entries count, because they have to be unpacked.
const MAX_IMPORT_BYTES: u64 = 4 << 30;
/// Maximum entries in a directory tree or tar file. This includes entries that the import skips.
const MAX_FILES: usize = 100_000;
/// Category for a list that is a single file.
const ONLY_CATEGORY: &str = "all";
/// A gzip file's first bytes (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A tar file's signature is at this offset (POSIX ustar, `magic`).
const TAR_MAGIC_AT: usize = 257;
/// A tar file's signature.
const TAR_MAGIC: &[u8] = b"ustar";

/// A parsed list.
#[derive(Debug)]
pub struct ReadList {
    kind: ListKind,
    object: Vec<u8>,
    bad_lines: u64,
    shown: Vec<String>,
}

/// Collects names, or ranges if a registry's file is found.
#[derive(Default)]
struct Reading {
    names: NameListBuilder,
    ranges: CountryRangesBuilder,
    bytes: u64,
    files: usize,
}

/// Reads a list from a file or a directory.
///
/// # Errors
/// Returns an error if the list cannot be read, is too large, or has no entries.
pub fn read(path: &Path) -> Result<ReadList, OperationError> {
    let of_path = |error: ReadError| OperationError::new(format!("{}: {error}", path.display()));
    let mut reading = Reading::default();
    let read = if path.is_dir() { reading.folder(path, 0) } else { reading.file(path) };
    read.map_err(of_path)?;
    reading.finish().ok_or_else(|| {
        OperationError::new(format!(
            "{}: no entries found; expected a hosts file, names or URLs one per line, directories \
             with files called domains and urls (or a .tar.gz of them), or delegated-*-extended \
             files",
            path.display()
        ))
    })
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    TooMany(#[from] TooManyEntries),
    #[error("more than {MAX_IMPORT_BYTES} bytes or {MAX_FILES} files")]
    TooLarge,
}

impl Reading {
    fn folder(&mut self, path: &Path, depth: usize) -> Result<(), ReadError> {
        // UT1 has two levels, so a directory this deep does not belong to a list.
        if depth > 4 {
            return Ok(());
        }
        let mut entries: Vec<_> = fs::read_dir(path)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            self.count_file()?;
            // Skip symbolic links, because they are aliases for other categories.
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.folder(&entry.path(), depth + 1)?;
            } else if kind.is_file() {
                let name = entry.path();
                let parts: Vec<String> =
                    name.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                self.member(&parts, BufReader::new(File::open(&name)?))?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), ReadError> {
        let mut file = BufReader::new(File::open(path)?);
        if file.fill_buf()?.starts_with(&GZIP) {
            self.unpacked(BufReader::new(GzDecoder::new(file)))
        } else {
            self.unpacked(file)
        }
    }

    fn unpacked(&mut self, input: impl BufRead) -> Result<(), ReadError> {
        let mut head = Vec::new();
        let mut input = input;
        input.by_ref().take((TAR_MAGIC_AT + TAR_MAGIC.len()) as u64).read_to_end(&mut head)?;
        let is_tar = head.get(TAR_MAGIC_AT..) == Some(TAR_MAGIC);
        let whole = BufReader::new(io::Cursor::new(head).chain(input));
        if !is_tar {
            return self.lines(whole, ONLY_CATEGORY, ListFileKind::Hosts);
        }
        let mut archive = tar::Archive::new(whole);
        // Otherwise the library would read any extension header into memory.
        for member in archive.entries()?.raw(true) {
            let member = member?;
            self.count_file()?;
            let size = member.size();
            let path = member.path()?.into_owned();
            let parts: Vec<String> =
                path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            let is_file = member.header().entry_type().is_file();
            if !is_file || !self.member(&parts, BufReader::new(member))? {
                self.count_bytes(size)?;
            }
        }
        Ok(())
    }

    /// Reads a file from a directory or tar file. Returns false if lists do not use this file name.
    fn member(&mut self, path: &[String], input: impl BufRead) -> Result<bool, ReadError> {
        let [.., folder, name] = path else { return Ok(false) };
        let kind = match name.as_str() {
            "domains" => ListFileKind::Domains,
            "urls" => ListFileKind::Urls,
            _ if name.starts_with("delegated-") => ListFileKind::Hosts,
            _ => return Ok(false),
        };
        if check_filter_name(folder).is_err() && kind != ListFileKind::Hosts {
            return Ok(false);
        }
        self.lines(input, folder, kind)?;
        Ok(true)
    }

    fn lines(
        &mut self,
        mut input: impl BufRead,
        category: &str,
        kind: ListFileKind,
    ) -> Result<(), ReadError> {
        let mut line = Vec::new();
        let mut is_of_registry = None;
        loop {
            line.clear();
            // A longer line is malformed, and so is its remainder.
            let most = MAX_LIST_LINE_BYTES as u64 + 2;
            let length = input.by_ref().take(most).read_until(b'\n', &mut line)?;
            if length == 0 {
                return Ok(());
            }
            self.count_bytes(length as u64)?;
            let is_remark = line.trim_ascii().is_empty() || line.starts_with(b"#");
            if is_of_registry.is_none() && !is_remark {
                is_of_registry = Some(CountryRangesBuilder::is_first_line(&line));
            }
            if is_of_registry == Some(true) {
                self.ranges.add_line(&line)?;
            } else {
                self.names.add_line(category, kind, &line)?;
            }
        }
    }

    fn count_file(&mut self) -> Result<(), ReadError> {
        self.files += 1;
        if self.files > MAX_FILES { Err(ReadError::TooLarge) } else { Ok(()) }
    }

    fn count_bytes(&mut self, bytes: u64) -> Result<(), ReadError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_IMPORT_BYTES { Err(ReadError::TooLarge) } else { Ok(()) }
    }

    fn finish(self) -> Option<ReadList> {
        if !self.ranges.is_empty() {
            let bad_lines = self.ranges.bad_lines();
            let object = self.ranges.build();
            return Some(ReadList {
                kind: ListKind::Countries,
                object,
                bad_lines,
                shown: Vec::new(),
            });
        }
        if self.names.is_empty() {
            return None;
        }
        let (bad_lines, shown) = (self.names.bad_lines().0, self.names.bad_lines().1.to_vec());
        let object = self.names.build();
        Some(ReadList { kind: ListKind::Names, object, bad_lines, shown })
    }
}

impl ReadList {
    fn categories(&self) -> Result<Map<String, Value>, OperationError> {
        let bytes: ListBytes = std::sync::Arc::new(self.object.clone());
        let broken = |error| OperationError::new(format!("cannot read the built list: {error}"));
        Ok(match self.kind {
            ListKind::Names => {
                let list = NameList::open(bytes).map_err(broken)?;
                let sections = list.sections().iter();
                sections.map(|section| (section.name.clone(), section.records.into())).collect()
            }
            ListKind::Countries => {
                let list = CountryRanges::open(bytes).map_err(broken)?;
                Map::from_iter([("ranges".to_owned(), list.entries().into())])
            }
        })
    }
}

/// Uploads a list to a store and records its version. Prints a data line with the name, version,
/// kind, entry count and object.
///
/// # Errors
/// Returns an error if the name is invalid, the list is malformed, or the store or the database
/// fails.
pub async fn import(
    coordinator: &Coordinator,
    name: &str,
    (list, source): (ReadList, &str),
    to: &str,
    sink: &dyn LineSink,
) -> Result<(), OperationError> {
    check_filter_name(name).map_err(OperationError::usage)?;
    let categories = list.categories()?;
    let entries = categories.values().filter_map(Value::as_i64).sum();
    let digest = Sha256::digest(&list.object);
    let object = format!("lists/{name}/{}.list", hex::encode(&digest[..8]));
    let row = NewFilterList {
        name: name.to_owned(),
        kind: list.kind.as_str().to_owned(),
        store: to.to_owned(),
        object,
        sha256: digest.to_vec(),
        entries,
        bytes: i64::try_from(list.object.len()).unwrap_or(i64::MAX),
        categories: Value::Object(categories),
        source: source.chars().take(1_000).collect(),
    };
    let store = everytab_storage::open(to, &StoreSettings::default()).await?;
    let options = PutOptions::new("application/octet-stream", "no-store");
    store.put(&row.object, list.object.into(), options).await?;
    let version = coordinator.add_filter_list(&row).await?;
    sink.data(format_args!("{name}\t{version}\t{}\t{entries}\t{}", row.kind, row.object))?;
    if list.bad_lines > 0 {
        let bad = list.bad_lines;
        let shown = list.shown;
        sink.note(format_args!("skipped {bad} invalid lines, such as {shown:?}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn categories(list: &ReadList) -> String {
        Value::Object(list.categories().unwrap()).to_string()
    }

    #[test]
    fn a_folder_a_tar_file_and_a_gzipped_one_of_the_same_categories_are_the_same_list() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("blacklists");
        for (category, name, text) in [
            ("adult", "domains", "bad.example\nworse.example\n192.0.2.1\n"),
            ("adult", "urls", "half.example/bad\nhalf.example/bad/\n"),
            ("adult", "expressions", "(bad|worse)"),
            ("games", "domains", "play.example"),
        ] {
            fs::create_dir_all(root.join(category)).unwrap();
            fs::write(root.join(category).join(name), text).unwrap();
        }
        fs::write(root.join("README"), "read.me").unwrap();
        let of_folder = read(&root).unwrap();
        assert_eq!(categories(&of_folder), r#"{"adult":4,"games":1}"#);
        let mut tar = tar::Builder::new(Vec::new());
        tar.append_dir_all("blacklists", &root).unwrap();
        let tar = tar.into_inner().unwrap();
        let path = folder.path().join("list.tar");
        fs::write(&path, &tar).unwrap();
        assert_eq!(read(&path).unwrap().object, of_folder.object);
        let path = folder.path().join("list.tar.gz");
        let file = File::create(&path).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        gzip.write_all(&tar).unwrap();
        gzip.finish().unwrap();
        assert_eq!(read(&path).unwrap().object, of_folder.object);
        let cut = folder.path().join("cut.tar.gz");
        let bytes = fs::read(&path).unwrap();
        fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
        assert!(read(&cut).unwrap_err().message.contains("cut.tar.gz"));
    }

    #[test]
    fn the_skipped_entries_of_a_tar_file_count_towards_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.tar");
        for kind in [
            tar::EntryType::Regular,
            tar::EntryType::Directory,
            tar::EntryType::Symlink,
            tar::EntryType::XHeader,
            tar::EntryType::GNULongName,
        ] {
            let mut header = tar::Header::new_ustar();
            header.set_path("blacklists/README").unwrap();
            header.set_entry_type(kind);
            header.set_size(MAX_IMPORT_BYTES + 1);
            header.set_cksum();
            fs::write(&path, header.as_bytes()).unwrap();
            let error = read(&path).unwrap_err().message;
            assert!(error.contains("more than 4294967296 bytes"), "{kind:?}: {error}");
        }
    }

    #[test]
    fn a_hosts_file_and_the_files_of_registries_are_lists_and_other_files_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        fs::write(&path, "# hosts\n0.0.0.0 a.example\n0.0.0.0 b.example\nno name\n").unwrap();
        let list = read(&path).unwrap();
        assert_eq!((categories(&list).as_str(), list.bad_lines), (r#"{"all":2}"#, 1));
        let registries = folder.path().join("rir");
        fs::create_dir(&registries).unwrap();
        for (name, country) in [("delegated-a-extended-latest", "DE"), ("delegated-b", "FR")] {
            let start = if country == "DE" { "192.0.2.0" } else { "198.51.100.0" };
            let text = format!("2|x|1|1|1|1|+0000\nx|{country}|ipv4|{start}|256|1|allocated|i\n");
            fs::write(registries.join(name), text).unwrap();
        }
        let list = read(&registries).unwrap();
        assert_eq!(
            (categories(&list).as_str(), list.kind),
            (r#"{"ranges":2}"#, ListKind::Countries)
        );
        for (name, text) in [("empty", ""), ("prose", "This is no list.\nAt all.\n")] {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().message;
            assert!(error.contains(name) && error.contains("no entries found"), "{error}");
        }
        assert!(read(&folder.path().join("absent")).unwrap_err().message.contains("absent"));
    }
}
