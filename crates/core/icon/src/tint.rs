//! A thumbnail's tint, by which the map sorts icons.

use crate::thumbnail::Thumbnail;

/// Hues, in equal steps from red over yellow, green and blue back to red.
pub const HUES: usize = 36;
/// Greys, from black to white.
pub const GREYS: usize = 8;
/// Hue units in a sixth of the colour circle, as many as a channel has values.
const SIXTH: i32 = 256;
/// An icon whose pixels have a lower mean chroma counts as grey. Chroma is the difference between a
/// pixel's largest and smallest channel. A thin coloured letter on white has about this value.
const MIN_CHROMA: usize = 20;

/// A thumbnail's tint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// Coloured: the hue's number. Red is 0.
    Hue(usize),
    /// Without colour: the number of the mean grey. Black is 0.
    Grey(usize),
    /// All pixels have the background's colour.
    Empty,
}

/// Returns a thumbnail's tint: the hue with the most chroma, where each hue also gets half the
/// chroma of its two neighbours. Pixels in the background's colour are ignored.
///
/// ```
/// use everytab_icon::{thumbnail::empty_thumbnail, tint::{Tint, tint}};
///
/// let plain = |colour| tint(&empty_thumbnail(colour), [219; 3]);
/// assert_eq!(plain([200, 0, 0]), Tint::Hue(0));
/// assert_eq!(plain([0, 0, 255]), Tint::Hue(24));
/// assert_eq!(plain([250, 251, 255]), Tint::Grey(7));
/// assert_eq!(plain([219; 3]), Tint::Empty);
/// ```
#[must_use]
pub fn tint(thumbnail: &Thumbnail, background: [u8; 3]) -> Tint {
    let (mut weights, mut pixels, mut light) = ([0; HUES], 0, 0);
    for pixel in thumbnail.as_chunks::<3>().0.iter().filter(|pixel| **pixel != background) {
        pixels += 1;
        let [red, green, blue] = pixel.map(usize::from);
        // The weights of ITU-R BT.709 in thousandths.
        light += (213 * red + 715 * green + 72 * blue) / 1_000;
        let (hue, chroma) = hue_and_chroma(*pixel);
        weights[hue] += chroma;
    }
    if pixels == 0 {
        return Tint::Empty;
    }
    if weights.iter().sum::<usize>() < MIN_CHROMA * pixels {
        return Tint::Grey(light / pixels * GREYS / 256);
    }
    let weight = |hue: usize| {
        let neighbours = weights[(hue + 1) % HUES] + weights[(hue + HUES - 1) % HUES];
        2 * weights[hue] + neighbours
    };
    Tint::Hue((0..HUES).rev().max_by_key(|hue| weight(*hue)).unwrap_or(0))
}

/// Returns a pixel's hue and chroma. A hue covers half a step on both sides of its colour.
fn hue_and_chroma(pixel: [u8; 3]) -> (usize, usize) {
    let [red, green, blue] = pixel.map(i32::from);
    let (largest, smallest) = (red.max(green).max(blue), red.min(green).min(blue));
    let chroma = largest - smallest;
    if chroma == 0 {
        return (0, 0);
    }
    let angle = match largest {
        _ if largest == red => (green - blue) * SIXTH / chroma,
        _ if largest == green => (blue - red) * SIXTH / chroma + 2 * SIXTH,
        _ => (red - green) * SIXTH / chroma + 4 * SIXTH,
    };
    let circle = 6 * SIXTH;
    let half_a_hue = circle / (2 * HUES as i32);
    let angle = (angle + half_a_hue).rem_euclid(circle);
    (angle as usize * HUES / circle as usize, chroma as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thumbnail::empty_thumbnail;

    const GROUND: [u8; 3] = [219; 3];

    fn of(pixels: &[[u8; 3]]) -> Tint {
        let mut thumbnail = empty_thumbnail(GROUND);
        thumbnail.as_chunks_mut::<3>().0[..pixels.len()].copy_from_slice(pixels);
        tint(&thumbnail, GROUND)
    }

    #[test]
    fn hues_follow_the_colour_circle() {
        let circle = [
            [255, 0, 0],
            [255, 128, 0],
            [255, 255, 0],
            [128, 255, 0],
            [0, 255, 0],
            [0, 255, 128],
            [0, 255, 255],
            [0, 128, 255],
            [0, 0, 255],
            [128, 0, 255],
            [255, 0, 255],
            [255, 0, 128],
        ];
        for (number, colour) in circle.into_iter().enumerate() {
            assert_eq!(of(&[colour]), Tint::Hue(number * 3), "{colour:?}");
            let dark = colour.map(|channel| channel / 4);
            assert_eq!(of(&[dark]), Tint::Hue(number * 3), "{dark:?}");
        }
        assert_eq!([of(&[[255, 0, 20]]), of(&[[255, 20, 0]])], [Tint::Hue(0); 2]);
    }

    #[test]
    fn the_most_colourful_pixels_decide_and_white_ones_do_not() {
        let white = [[255; 3]; 50];
        assert_eq!(of(&[&white[..], &[[0, 0, 200]; 6]].concat()), Tint::Hue(24));
        assert_eq!(of(&[&white[..], &[[0, 0, 200]; 5]].concat()), Tint::Grey(7));
        let both = [&[[90, 100, 90]; 30][..], &[[200, 0, 0]; 20]].concat();
        assert_eq!(of(&both), Tint::Hue(0));
        let apart = [&[[250, 0, 0]; 10][..], &[[0, 0, 250]; 7], &[[43, 0, 250]; 7]].concat();
        assert_eq!(of(&apart), Tint::Hue(24));
    }

    #[test]
    fn greys_are_told_apart_by_their_light() {
        let greys = [0, 31, 32, 127, 128, 255].map(|grey| of(&[[grey; 3]]));
        assert_eq!(greys, [0, 0, 1, 3, 4, 7].map(Tint::Grey));
        assert_eq!(of(&[GROUND]), Tint::Empty);
    }
}
