//! The digest that shows whether two workers create identical icons.
//!
//! A scan records [`encoder_digest`] when it starts, and a worker with another digest does not take
//! its bundle jobs. Add a vector only for a good reason, because this changes the digest. Never
//! take a vector from a website.

use libdeflater::{CompressionLvl, Compressor};
use sha2::{Digest, Sha256};

use crate::{
    convert::to_tab_icon_with,
    limits::TAB_ICON_PIXELS,
    pixels::Pixels,
    png::{Colours, encode, encode_by},
};

/// Files in formats that this crate cannot write: a baseline JPEG (4:2:0), a lossy WebP, an AVIF
/// (4:2:0, 10 bits, limited range, with alpha), and an AVIF that is so large that some in-loop
/// filters are skipped.
const FILES: [&[u8]; 4] = [
    include_bytes!("../vectors/gradient.jpg"),
    include_bytes!("../vectors/gradient.webp"),
    include_bytes!("../vectors/gradient.avif"),
    include_bytes!("../vectors/avif_large/filtered.avif"),
];

const SVG: &str = concat!(
    r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 77 61"><defs>"##,
    r##"<linearGradient id="l" x2=".7" y2="1"><stop stop-color="#e31"/>"##,
    r##"<stop offset=".8" stop-color="#14c" stop-opacity=".6"/></linearGradient>"##,
    r##"<radialGradient id="r" fx=".3"><stop stop-color="#fd0"/>"##,
    r##"<stop offset="1" stop-color="#083"/></radialGradient>"##,
    r##"<clipPath id="c"><path d="M5 9A30 22 31 1 1 70 40Q40 66 9 51Z"/></clipPath>"##,
    r##"<mask id="m"><circle cx="40" cy="30" r="27" fill="#ccc"/></mask>"##,
    r##"<pattern id="p" width="9" height="7" patternUnits="userSpaceOnUse">"##,
    r##"<path d="M0 0L9 7" stroke="color(display-p3 .3 0 .4)" stroke-width="1.3"/>"##,
    r##"</pattern></defs>"##,
    r##"<rect width="77" height="61" rx="13" fill="url(#l)" clip-path="url(#c)"/>"##,
    r##"<g mask="url(#m)" transform="rotate(17 38 30)"><ellipse cx="37" cy="31" rx="31" ry="17" "##,
    r##"fill="url(#r)"/><rect x="9" y="20" width="60" height="20" fill="url(#p)"/></g>"##,
    r##"<style>:root{--s:#123}@media (prefers-color-scheme:dark){:root{--s:#fff}}</style>"##,
    r##"<path d="M7 50C20 0 50 0 70 55" fill="none" stroke="var(--s)" stroke-width="2.7" "##,
    r##"stroke-dasharray="7 3 2" stroke-linecap="round" opacity=".8"/></svg>"##,
);

/// Returns a SHA-256 digest of all vectors' tab icons, with each setting in [`Colours::ALL`].
#[must_use]
pub fn encoder_digest() -> [u8; 32] {
    let mut digest = Sha256::new();
    for vector in vectors() {
        for colours in Colours::ALL {
            match to_tab_icon_with(&vector, colours) {
                Ok(icon) => digest.update(&icon.png),
                // If a machine cannot decode a vector, its digest must differ from the other
                // machines' digests.
                Err(error) => digest.update(error.to_string()),
            }
        }
    }
    digest.finalize().into()
}

/// Returns [`encoder_digest`] in lower-case hex.
#[must_use]
pub fn encoder_digest_hex() -> String {
    hex::encode(encoder_digest())
}

pub(crate) fn vectors() -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<u8>> = FILES.iter().map(|&bytes| bytes.to_vec()).collect();
    files.push(SVG.as_bytes().to_vec());
    for (seed, (width, height)) in
        [(16, 16), (32, 32), (33, 47), (48, 48), (180, 180), (512, 300), (1000, 20), (3, 700)]
            .into_iter()
            .enumerate()
    {
        for style in 0..4 {
            let picture = picture(width, height, style, seed as u32 + 1);
            files.push(encode(&picture));
            if width.max(height) <= TAB_ICON_PIXELS {
                // The conversion keeps this file if it is smaller than the PNG that we encode.
                let mut hardest = Compressor::new(CompressionLvl::best());
                files.push(encode_by(&mut hardest, &picture, Colours::Lossless));
            }
        }
        files.push(bmp(&picture(width, height, 1, seed as u32 + 1)));
    }
    files
}

fn picture(width: u32, height: u32, style: u32, seed: u32) -> Pixels {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let mut noise = || {
        // xorshift32 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
    for y in 0..height {
        for x in 0..width {
            let (across, down) = ((x * 255 / width) as u8, (y * 255 / height) as u8);
            let pixel = match style {
                0 => noise().to_le_bytes(),
                1 => [across, down, across.midpoint(255 - down), 255],
                2 => {
                    let cell = (x * 5 / width + y * 4 / height * seed) % 3;
                    [[20, 90, 200, 255], [250, 250, 250, 255], [0, 0, 0, 0]][cell as usize]
                }
                _ => {
                    let (dx, dy) = (i64::from(across) - 127, i64::from(down) - 127);
                    let edge = (16_000 - dx * dx - dy * dy).clamp(0, 2550) / 10;
                    [across / 4 * 3, across / 4 * 3, across / 4 * 3, edge as u8]
                }
            };
            rgba.extend(pixel);
        }
    }
    Pixels::new(width, height, rgba).expect("sides are within limits, and every pixel is set")
}

fn bmp(pixels: &Pixels) -> Vec<u8> {
    let mut file = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    file.extend(pixels.width().to_le_bytes());
    file.extend(pixels.height().to_le_bytes());
    file.extend([1, 0, 24, 0]);
    file.extend([0; 24]);
    for row in pixels.rgba().rchunks_exact(pixels.width() as usize * 4) {
        let start = file.len();
        file.extend(row.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [b, g, r]));
        let padded = start + (file.len() - start).next_multiple_of(4);
        file.resize(padded, 0);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{convert::to_tab_icon, decode::decode};

    #[test]
    fn every_vector_becomes_an_icon() {
        for (index, vector) in vectors().iter().enumerate() {
            let icon = to_tab_icon(vector).unwrap_or_else(|error| panic!("{index}: {error}"));
            assert!(!icon.png.is_empty() && icon.width.max(icon.height) <= 32);
        }
    }

    #[test]
    fn a_vector_that_was_compressed_harder_is_kept_unchanged() {
        let is_kept = |vector: &Vec<u8>| to_tab_icon(vector).is_ok_and(|icon| icon.png == *vector);
        let shorter = |vector: &Vec<u8>| {
            let (_, pixels) = decode(vector).unwrap();
            vector.len() < encode(&pixels).len()
        };
        assert!(vectors().iter().any(|vector| is_kept(vector) && shorter(vector)));
    }

    #[test]
    fn the_digest_has_this_versions_value() {
        assert_eq!(encoder_digest_hex(), include_str!("../vectors/digest.txt").trim());
    }
}
