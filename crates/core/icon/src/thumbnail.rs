//! An icon's 8x8 thumbnail for the map.

use crate::{decode::decode, scale::scale_down};

/// A thumbnail's width and height in pixels.
pub const THUMBNAIL_PIXELS: usize = 8;
/// A thumbnail's size in bytes.
pub const THUMBNAIL_BYTES: usize = THUMBNAIL_PIXELS * THUMBNAIL_PIXELS * 3;

/// A thumbnail: red, green and blue for each pixel, row by row.
pub type Thumbnail = [u8; THUMBNAIL_BYTES];

/// Returns a thumbnail that shows only the background.
#[must_use]
pub fn empty_thumbnail(background: [u8; 3]) -> Thumbnail {
    let mut pixels = [0; THUMBNAIL_BYTES];
    pixels.as_chunks_mut::<3>().0.fill(background);
    pixels
}

/// Returns the thumbnail of an icon in any known format. An icon smaller than the thumbnail is
/// centred on the background. If the icon does not decode, the thumbnail shows only the background.
///
/// ```
/// use everytab_icon::thumbnail::{empty_thumbnail, thumbnail};
///
/// let svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 8'>\
///            <path fill='red' d='M0 0h16v8H0z'/></svg>";
/// let pixels = thumbnail(svg.as_bytes(), [9, 9, 9]);
/// assert_eq!((&pixels[..3], &pixels[3 * 8 * 4..][..3]), (&[9, 9, 9][..], &[255, 0, 0][..]));
/// assert_eq!(thumbnail(b"no icon", [9, 9, 9]), empty_thumbnail([9, 9, 9]));
/// ```
#[must_use]
pub fn thumbnail(icon: &[u8], background: [u8; 3]) -> Thumbnail {
    let mut shown = empty_thumbnail(background);
    let Ok((_, pixels)) = decode(icon) else { return shown };
    let small = scale_down(pixels, THUMBNAIL_PIXELS as u32);
    let (width, height) = (small.width() as usize, small.height() as usize);
    let (left, top) = ((THUMBNAIL_PIXELS - width) / 2, (THUMBNAIL_PIXELS - height) / 2);
    for (i, [red, green, blue, alpha]) in small.iter().enumerate() {
        let at = ((top + i / width) * THUMBNAIL_PIXELS + left + i % width) * 3;
        let alpha = u32::from(alpha);
        for (below, above) in shown[at..at + 3].iter_mut().zip([red, green, blue]) {
            let mixed = u32::from(above) * alpha + u32::from(*below) * (255 - alpha);
            *below = ((mixed + 127) / 255) as u8;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{pixels::Pixels, png::encode};

    fn icon(side: u32, pixel: [u8; 4]) -> Vec<u8> {
        encode(&Pixels::new(side, side, pixel.repeat((side * side) as usize)).unwrap())
    }

    #[test]
    fn a_plain_icon_keeps_its_colour_at_every_size() {
        for side in [8, 9, 16, 31, 32] {
            let pixels = thumbnail(&icon(side, [200, 100, 50, 255]), [0, 0, 0]);
            assert!(pixels.as_chunks::<3>().0.iter().all(|p| *p == [200, 100, 50]), "{side}");
        }
    }

    #[test]
    fn transparent_pixels_show_the_background() {
        let half = thumbnail(&icon(32, [255, 255, 255, 128]), [0, 0, 0]);
        assert!(half.iter().all(|channel| (127..=129).contains(channel)), "{half:?}");
        let small = thumbnail(&icon(4, [255, 0, 0, 255]), [1, 2, 3]);
        let pixels = small.as_chunks::<3>().0;
        assert_eq!(
            (pixels[0], pixels[2 * 8 + 2], pixels[5 * 8 + 5]),
            ([1, 2, 3], [255, 0, 0], [255, 0, 0])
        );
        assert_eq!(pixels.iter().filter(|pixel| **pixel == [255, 0, 0]).count(), 16);
    }
}
