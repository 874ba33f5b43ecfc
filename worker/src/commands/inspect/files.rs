//! Reads whole files into memory, gzipped or not, up to a size limit.

use std::{fs::File, io::Read, path::Path};

use flate2::read::MultiGzDecoder;

/// Limit for a file in memory, such as a WARC file.
pub(super) const MAX_FILE_BYTES: u64 = 4 << 30;
/// Limit for a page or an icon, before and after decompression.
pub(super) const MAX_SMALL_FILE_BYTES: u64 = 256 << 20;

/// Reads a whole file, up to `most` bytes.
///
/// # Errors
/// Returns a reason in one line.
pub(super) fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if about.is_dir() {
        return Err("it is a directory; give the files in it".into());
    }
    if about.len() > most {
        return Err(too_large(most));
    }
    read_at_most(file, most)
}

/// Like [`read_file`], but decompresses gzip.
pub(super) fn read_unpacked(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    unpacked(read_file(path, most)?, most)
}

/// Like [`read_unpacked`], from standard input.
pub(super) fn read_standard_input(most: u64) -> Result<Vec<u8>, String> {
    unpacked(read_at_most(std::io::stdin().lock(), most)?, most)
}

/// Like [`read_file`], from standard input.
pub(super) fn read_packed_input(most: u64) -> Result<Vec<u8>, String> {
    read_at_most(std::io::stdin().lock(), most)
}

fn unpacked(bytes: Vec<u8>, most: u64) -> Result<Vec<u8>, String> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    read_at_most(MultiGzDecoder::new(bytes.as_slice()), most)
        .map_err(|error| format!("gzip: {error}"))
}

fn read_at_most(input: impl Read, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // A pipe's length is unknown until it is read.
    input.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn too_large(most: u64) -> String {
    format!("it is larger than {} MiB, the limit for reading into memory", most >> 20)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_over_the_limit_is_rejected_before_or_after_decompression() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("page.html.gz");
        let file = File::create(&path).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        packed.write_all(&[b'x'; 5_000]).unwrap();
        packed.finish().unwrap();
        assert_eq!(read_unpacked(&path, 5_000).unwrap().len(), 5_000);
        assert!(read_unpacked(&path, 4_999).unwrap_err().contains("larger than"));
        assert!(read_file(&path, 10).unwrap_err().contains("larger than"));
        assert!(read_file(folder.path(), 10).unwrap_err().contains("directory"));
        assert!(read_file(&folder.path().join("none"), 10).is_err());
    }
}
