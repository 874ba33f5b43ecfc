//! Converts a decoded AV1 picture's planes to RGBA.
//!
//! As in libyuv, which Chromium uses for AVIF, subsampled chroma is interpolated linearly between
//! centred samples, except in 12-bit pictures with 4:2:0 chroma and without HDR. The declared
//! chroma sample position is ignored.

use re_rav1d::{Picture, PixelLayout, PlanarImageComponent, Plane};

use super::avif_matrix::{Conversion, Matrix};
use crate::pixels::divide_by_alpha;

struct Rows {
    plane: Plane,
    stride: usize,
    is_deep: bool,
    width: usize,
    height: usize,
}

impl Rows {
    fn new(picture: &Picture, component: PlanarImageComponent) -> Self {
        let (mut width, mut height) = (picture.width() as usize, picture.height() as usize);
        if component != PlanarImageComponent::Y {
            let layout = picture.pixel_layout();
            if matches!(layout, PixelLayout::I420 | PixelLayout::I422) {
                width = width.div_ceil(2);
            }
            if layout == PixelLayout::I420 {
                height = height.div_ceil(2);
            }
        }
        Self {
            plane: picture.plane(component),
            stride: picture.stride(component) as usize,
            is_deep: picture.bit_depth() > 8,
            width,
            height,
        }
    }

    fn read(&self, y: usize, samples: &mut Vec<i32>) {
        let bytes = self.plane.get(y.min(self.height - 1) * self.stride..).unwrap_or_default();
        samples.clear();
        if self.is_deep {
            let pairs = bytes.as_chunks::<2>().0.iter().take(self.width);
            samples.extend(pairs.map(|&pair| i32::from(u16::from_ne_bytes(pair))));
        } else {
            samples.extend(bytes.iter().take(self.width).map(|&byte| i32::from(byte)));
        }
        samples.resize(self.width, 0);
    }
}

struct Chroma {
    rows: Rows,
    layout: PixelLayout,
    is_repeated: bool,
    near: Vec<i32>,
    far: Vec<i32>,
}

impl Chroma {
    fn new(picture: &Picture, component: PlanarImageComponent, is_hdr: bool) -> Self {
        let rows = Rows::new(picture, component);
        let layout = picture.pixel_layout();
        // Chromium converts all pictures except HDR with libyuv, which does not interpolate 12-bit
        // 4:2:0 chroma.
        let is_repeated = layout == PixelLayout::I420 && picture.bit_depth() == 12 && !is_hdr;
        Self { rows, layout, is_repeated, near: Vec::new(), far: Vec::new() }
    }

    fn read(&mut self, y: usize, width: usize, samples: &mut Vec<i32>) {
        if self.layout == PixelLayout::I444 {
            return self.rows.read(y, samples);
        }
        if self.is_repeated {
            self.rows.read(y / 2, &mut self.near);
            samples.clear();
            samples.extend((0..width).map(|x| self.near[x / 2]));
            return;
        }
        // The near row has weight 3 and the far row has weight 1. Columns have the same weights.
        if self.layout == PixelLayout::I420 {
            self.rows.read(y / 2, &mut self.near);
            let far = if y.is_multiple_of(2) { (y / 2).saturating_sub(1) } else { y / 2 + 1 };
            self.rows.read(far, &mut self.far);
            for (near, far) in self.near.iter_mut().zip(&self.far) {
                *near = *near * 3 + far;
            }
        } else {
            self.rows.read(y, &mut self.near);
        }
        let shift = if self.layout == PixelLayout::I420 { 4 } else { 2 };
        // For 8-bit samples, libyuv does not interpolate the last column.
        let last = self.near.len() - 1;
        let apart = if self.rows.is_deep { width } else { width - 1 };
        samples.clear();
        samples.extend((0..width).map(|x| {
            let near = x / 2;
            let far = match x {
                _ if x == apart => near,
                _ if x.is_multiple_of(2) => near.saturating_sub(1),
                _ => (near + 1).min(last),
            };
            (self.near[near] * 3 + self.near[far] + (1 << (shift - 1))) >> shift
        }));
    }
}

/// Returns `None` if the picture has subsampled chroma but the matrix does not allow it.
pub(crate) fn rgba(
    picture: &Picture,
    matrix: Matrix,
    full_range: bool,
    is_hdr: bool,
) -> Option<Vec<u8>> {
    let layout = picture.pixel_layout();
    if matrix == Matrix::Identity && matches!(layout, PixelLayout::I420 | PixelLayout::I422) {
        return None;
    }
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let conversion = Conversion::new(matrix, picture.bit_depth(), full_range);
    let luma = Rows::new(picture, PlanarImageComponent::Y);
    let mut rgba = Vec::with_capacity(width * height * 4);
    let mut ys = Vec::new();
    if layout == PixelLayout::I400 {
        for y in 0..height {
            luma.read(y, &mut ys);
            rgba.extend(ys.iter().map(|&y| conversion.grey(y)).flat_map(|y| [y, y, y, 255]));
        }
        return Some(rgba);
    }
    let mut u = Chroma::new(picture, PlanarImageComponent::U, is_hdr);
    let mut v = Chroma::new(picture, PlanarImageComponent::V, is_hdr);
    let (mut us, mut vs) = (Vec::new(), Vec::new());
    for y in 0..height {
        luma.read(y, &mut ys);
        u.read(y, width, &mut us);
        v.read(y, width, &mut vs);
        for ((&y, &u), &v) in ys.iter().zip(&us).zip(&vs) {
            let [red, green, blue] = conversion.rgb(y, u, v);
            rgba.extend([red, green, blue, 255]);
        }
    }
    Some(rgba)
}

pub(crate) fn opacity(picture: &Picture, full_range: bool) -> Vec<u8> {
    let luma = Rows::new(picture, PlanarImageComponent::Y);
    let conversion = Conversion::new(Matrix::Identity, picture.bit_depth(), full_range);
    let mut opacity = Vec::with_capacity(luma.width * luma.height);
    let mut row = Vec::new();
    for y in 0..luma.height {
        luma.read(y, &mut row);
        opacity.extend(row.iter().map(|&sample| conversion.grey(sample)));
    }
    opacity
}

pub(crate) fn add_opacity(rgba: &mut [u8], opacity: &[u8], is_premultiplied: bool) {
    for (pixel, &opacity) in rgba.as_chunks_mut::<4>().0.iter_mut().zip(opacity) {
        pixel[3] = opacity;
        if is_premultiplied {
            divide_by_alpha(pixel);
        }
    }
}
