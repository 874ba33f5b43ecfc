//! A shard's part of the map: its tabs' thumbnails, bundle by bundle, compressed.
//!
//! A part starts with its bundle count and each bundle's tab count, as little-endian 4-byte
//! numbers.

use std::io::{Read as _, Write as _};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

/// A cell's width and height at level 0 in pixels.
pub const CELL_PIXELS: u32 = 8;
/// A thumbnail's size in bytes: red, green and blue for each pixel in a cell.
pub const THUMBNAIL_BYTES: usize = (CELL_PIXELS * CELL_PIXELS * 3) as usize;
/// Maximum uncompressed part size in bytes. A shard with 1,200 tabs has 230 KB.
const MAX_PART_BYTES: u64 = 256 << 20;

/// Writes a part from each bundle's thumbnails.
#[must_use]
pub fn write_part<'a>(bundles: impl IntoIterator<Item = &'a [[u8; THUMBNAIL_BYTES]]>) -> Vec<u8> {
    let bundles: Vec<_> = bundles.into_iter().collect();
    // Writing to memory does not fail.
    compressed(&bundles).unwrap_or_default()
}

fn compressed(bundles: &[&[[u8; THUMBNAIL_BYTES]]]) -> std::io::Result<Vec<u8>> {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&number(bundles.len()))?;
    for tabs in bundles {
        encoder.write_all(&number(tabs.len()))?;
    }
    for tabs in bundles {
        encoder.write_all(tabs.as_flattened())?;
    }
    encoder.finish()
}

/// Reads each bundle's thumbnails from a part.
///
/// # Errors
/// Returns an error if the bytes are not a valid part.
pub fn read_part(bytes: &[u8]) -> Result<Vec<Vec<[u8; THUMBNAIL_BYTES]>>, String> {
    let mut plain = Vec::new();
    let mut decoder = ZlibDecoder::new(bytes).take(MAX_PART_BYTES);
    decoder.read_to_end(&mut plain).map_err(|error| error.to_string())?;
    parse(&plain).ok_or_else(|| "the length does not match the header".to_owned())
}

fn parse(plain: &[u8]) -> Option<Vec<Vec<[u8; THUMBNAIL_BYTES]>>> {
    let number = |bytes: [u8; 4]| usize::try_from(u32::from_le_bytes(bytes)).ok();
    let (count, rest) = plain.split_first_chunk::<4>()?;
    let (counts, rest) = rest.split_at_checked(number(*count)?.checked_mul(4)?)?;
    let (mut thumbnails, left) = rest.as_chunks::<THUMBNAIL_BYTES>();
    let mut bundles = Vec::new();
    for count in counts.as_chunks::<4>().0 {
        let (tabs, others) = thumbnails.split_at_checked(number(*count)?)?;
        bundles.push(tabs.to_vec());
        thumbnails = others;
    }
    (left.is_empty() && thumbnails.is_empty()).then_some(bundles)
}

/// Replaces a tab's thumbnail in a part. `None` if the part is malformed or does not contain this
/// tab.
#[must_use]
pub fn painted_over(
    part: &[u8],
    bundle: usize,
    slot: usize,
    thumbnail: &[u8; THUMBNAIL_BYTES],
) -> Option<Vec<u8>> {
    let mut bundles = read_part(part).ok()?;
    *bundles.get_mut(bundle)?.get_mut(slot)? = *thumbnail;
    Some(write_part(bundles.iter().map(Vec::as_slice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_gives_back_its_thumbnails() {
        let bundles = [vec![[1; 192], [2; 192]], Vec::new(), vec![[3; 192]]];
        let part = write_part(bundles.iter().map(Vec::as_slice));
        assert_eq!(read_part(&part).unwrap(), bundles);
        let painted = painted_over(&part, 0, 1, &[9; 192]).unwrap();
        assert_eq!(read_part(&painted).unwrap()[0], [[1; 192], [9; 192]]);
        assert_eq!(painted_over(&part, 1, 0, &[9; 192]), None);
        assert_eq!(read_part(&write_part([])).unwrap().len(), 0);
    }

    #[test]
    fn bytes_that_are_no_part_are_refused() {
        let zlib = |plain: &[u8]| {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        };
        for bytes in [&b"no zlib"[..], b"", &zlib(b"abc"), &zlib(&[255; 8]), &zlib(&[0; 5])] {
            assert!(read_part(bytes).is_err());
        }
    }
}
