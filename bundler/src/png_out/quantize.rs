//! Fewer colours through `quantizr`: at most 64, no dithering. Off unless asked for: its sums are
//! floats, in the order of a hash table whose layout is the architecture's, so machines of one
//! kind agree, and others only as far as the test vectors show.

use quantizr::{Image, Options, QuantizeResult};

use crate::pixels::Pixels;

const COLOURS: usize = 64;

/// `pixels` in at most 64 colours; untouched where they have no more.
pub(super) fn quantized(pixels: Pixels) -> Pixels {
    let mut colours: Vec<[u8; 4]> = pixels.iter().collect();
    colours.sort_unstable();
    colours.dedup();
    if colours.len() <= COLOURS {
        return pixels;
    }
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let Ok(image) = Image::new(pixels.rgba(), width, height) else { return pixels };
    let mut options = Options::default();
    if options.set_max_colors(COLOURS as i32).is_err() {
        return pixels;
    }
    let mut result = QuantizeResult::quantize(&image, &options);
    if result.set_dithering_level(0.0).is_err() {
        return pixels;
    }
    let mut indices = vec![0; width * height];
    if result.remap_image(&image, &mut indices).is_err() {
        return pixels;
    }
    let entries = &result.get_palette().entries;
    let colour = |&index: &u8| {
        entries.get(usize::from(index)).map_or([0; 4], |entry| [entry.r, entry.g, entry.b, entry.a])
    };
    let rgba = indices.iter().flat_map(colour).collect();
    Pixels::new(pixels.width(), pixels.height(), rgba)
        .map_or(pixels, Pixels::with_clean_transparency)
}
