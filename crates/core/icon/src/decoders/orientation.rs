//! Applies the EXIF orientation, as browsers do (CSS Images 3, `image-orientation: from-image`).
//! See Exif 2.32, 4.6.4 A (tag 0x0112), and TIFF 6.0.

use crate::pixels::Pixels;

const TAG: u16 = 0x0112;
const SHORT: u16 = 3;
const ENTRY_BYTES: usize = 12;

/// Returns 1 (upright) if there is no valid orientation entry. As in Chromium, an entry is valid
/// only if it contains a single 16-bit number. If several entries are valid, the first counts.
pub(crate) fn read(exif: &[u8]) -> u8 {
    let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    find(exif).unwrap_or(1)
}

fn find(tiff: &[u8]) -> Option<u8> {
    let big_endian = match tiff.get(..4)? {
        b"II\x2a\0" => false,
        b"MM\0\x2a" => true,
        _ => return None,
    };
    let u16_at = |bytes: &[u8], at: usize| -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let u32_at = |bytes: &[u8], at: usize| -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let directory = tiff.get(u32_at(tiff, 4)? as usize..)?;
    let entries = directory.get(2..)?.chunks_exact(ENTRY_BYTES);
    entries.take(usize::from(u16_at(directory, 0)?)).find_map(|entry| {
        let head = (u16_at(entry, 0)?, u16_at(entry, 2)?, u32_at(entry, 4)?);
        let orientation = u8::try_from(u16_at(entry, 8)?).ok()?;
        (head == (TAG, SHORT, 1) && (1..=8).contains(&orientation)).then_some(orientation)
    })
}

pub(crate) fn upright(pixels: Pixels, orientation: u8) -> Pixels {
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let stored: fn(usize, usize, usize, usize) -> (usize, usize) = match orientation {
        2 => |x, y, right, _| (right - x, y),
        3 => |x, y, right, bottom| (right - x, bottom - y),
        4 => |x, y, _, bottom| (x, bottom - y),
        5 => |x, y, _, _| (y, x),
        6 => |x, y, _, bottom| (y, bottom - x),
        7 => |x, y, right, bottom| (right - y, bottom - x),
        8 => |x, y, right, _| (right - y, x),
        _ => return pixels,
    };
    let lies = orientation > 4;
    let (across, down) = if lies { (height, width) } else { (width, height) };
    let source = pixels.rgba().as_chunks::<4>().0;
    let positions = (0..down).flat_map(|y| (0..across).map(move |x| (x, y)));
    let rgba = positions.flat_map(|(x, y)| {
        let (column, row) = stored(x, y, width - 1, height - 1);
        source[row * width + column]
    });
    Pixels::new(across as u32, down as u32, rgba.collect()).unwrap_or(pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_orientation_turns_the_letter_f_upright() {
        // The letter F as dots, and how it is stored for each orientation (Exif 2.32, table 6).
        let f: &[&[u8]] = &[b"##", b"#.", b"..", b"#."];
        let stored: [&[&[u8]]; 8] = [
            &[b"##", b"#.", b"..", b"#."],
            &[b"##", b".#", b"..", b".#"],
            &[b".#", b"..", b".#", b"##"],
            &[b"#.", b"..", b"#.", b"##"],
            &[b"##.#", b"#..."],
            &[b"#...", b"##.#"],
            &[b"...#", b"#.##"],
            &[b"#.##", b"...#"],
        ];
        let picture = |rows: &[&[u8]]| {
            let rgba = rows.concat().iter().flat_map(|&dot| [dot, dot, dot, 255]).collect();
            Pixels::new(rows[0].len() as u32, rows.len() as u32, rgba).unwrap()
        };
        for (orientation, rows) in (1..).zip(stored) {
            assert_eq!(upright(picture(rows), orientation), picture(f), "{orientation}");
        }
    }

    #[test]
    fn exif_in_either_byte_order_is_read_and_broken_exif_ignored() {
        let little = b"Exif\0\0II\x2a\0\x08\0\0\0\x02\0\x0f\x01\x02\0\0\0\0\0\0\0\0\0\
                       \x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
        assert_eq!(read(little), 6);
        let big = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0";
        assert_eq!(read(big), 8);
        for cut in 0..big.len() {
            assert_eq!(read(&big[..cut]), 1);
        }
        assert_eq!(read(b"MM\0\x2a\xff\xff\xff\xff"), 1);
    }

    #[test]
    fn the_first_valid_16_bit_number_is_the_orientation() {
        let with = |entries: &[[u8; 12]]| {
            let directory = [b"MM\0\x2a\0\0\0\x08", &[0, entries.len() as u8][..]].concat();
            read(&[directory, entries.concat()].concat())
        };
        let entry =
            |kind: u8, count: u8, value: u8| [1, 0x12, 0, kind, 0, 0, 0, count, 0, value, 0, 0];
        assert_eq!(with(&[entry(3, 1, 6)]), 6);
        // One camera writes a signed 32-bit number (gdk-pixbuf bug143608).
        for unlike in [entry(9, 1, 6), entry(4, 1, 6), entry(3, 2, 6), entry(3, 0, 6)] {
            assert_eq!(with(&[unlike]), 1);
            assert_eq!(with(&[unlike, entry(3, 1, 3)]), 3);
        }
        assert_eq!(with(&[entry(3, 1, 9), entry(3, 1, 0), entry(3, 1, 5), entry(3, 1, 6)]), 5);
        let mut many = vec![[0, 1, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0]; 254];
        many.push(entry(3, 1, 8));
        assert_eq!(with(&many), 8);
    }
}
