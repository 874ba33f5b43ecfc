//! Reads the header fields and segments of a JPEG without decoding it.
//!
//! Source: ITU-T T.81, annex B. Does not depend on pixels or the entropy coding.

/// The fields of the first frame header (SOF), and the number of scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JpegHeader {
    /// Width in pixels.
    pub(crate) width: u32,
    /// Height in pixels.
    pub(crate) height: u32,
    /// True if each scan refines the picture of the earlier ones.
    pub(crate) progressive: bool,
    /// Maximum vertical sampling factor, 1..=15: rows of blocks of 8 rows in one unit (MCU).
    pub(crate) vertical: usize,
}

/// One marker, with the bytes after it.
struct Marker<'a> {
    code: u8,
    /// Length in bytes of the segment at the start of `after`.
    segment: usize,
    after: &'a [u8],
}

/// Iterates over the markers of a file. Bytes between segments are skipped, as in decoders, and so
/// is the entropy-coded data of scans.
fn markers(bytes: &[u8]) -> impl Iterator<Item = Marker<'_>> {
    let mut rest = bytes.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        let skipped =
            rest.windows(2).position(|pair| pair[0] == 0xFF && !matches!(pair[1], 0 | 0xFF))?;
        let code = rest[skipped + 1];
        let after = &rest[skipped + 2..];
        // Markers without a segment.
        let has_segment = !matches!(code, 0x01 | 0xD0..=0xD9);
        let length = after.first_chunk().map_or(0, |length| u16::from_be_bytes(*length));
        let segment = if has_segment { usize::from(length).max(2) } else { 0 };
        rest = after.get(segment..).unwrap_or_default();
        Some(Marker { code, segment, after })
    })
}

impl JpegHeader {
    /// Reads the first frame header. Returns `None` if there is none before the first scan.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        for Marker { code, after, .. } in markers(bytes) {
            match code {
                0xC4 | 0xC8 | 0xCC => {}
                0xC0..=0xCF => {
                    let side = |at: usize| {
                        let side = after.get(at..).and_then(<[u8]>::first_chunk);
                        side.map(|side| u32::from(u16::from_be_bytes(*side)))
                    };
                    let components = usize::from(after.get(7).copied().unwrap_or(0));
                    let samplings = (0..components).filter_map(|index| after.get(9 + index * 3));
                    let vertical = samplings.map(|sampling| usize::from(sampling & 15)).max();
                    return Some(Self {
                        width: side(5)?,
                        height: side(3)?,
                        progressive: matches!(code, 0xC2 | 0xC6 | 0xCA | 0xCE),
                        vertical: vertical.unwrap_or(1).max(1),
                    });
                }
                0xD9 | 0xDA => return None,
                _ => {}
            }
        }
        None
    }
}

/// Returns true if the file contains its end marker (EOI).
pub(crate) fn has_end(bytes: &[u8]) -> bool {
    markers(bytes).any(|marker| marker.code == 0xD9)
}

/// Returns the file up to its last complete segment, with the available data of a scan after it.
pub(crate) fn whole_segments(bytes: &[u8]) -> &[u8] {
    let cut = markers(bytes).find(|marker| marker.segment > marker.after.len());
    cut.map_or(bytes, |marker| &bytes[..bytes.len() - marker.after.len() - 2])
}

/// Returns the number of scans that start in the file.
pub(crate) fn scans(bytes: &[u8]) -> usize {
    markers(bytes).filter(|marker| marker.code == 0xDA).count()
}
