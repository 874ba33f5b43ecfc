//! Converts the planes of a decoded AV1 picture to RGBA, in integers.
//!
//! Chroma with fewer samples is interpolated linearly between centred samples, as libyuv does, by
//! which Chromium draws AVIF; the declared position of chroma samples is ignored as there. The
//! conversion itself follows ITU-T H.273 to the nearest level, where libyuv has six bits of fraction.

use re_rav1d::{Picture, PixelLayout, PlanarImageComponent, Plane};

/// Bits of the fraction in which a conversion is computed. Its greatest sum is below 1,100 levels.
const FRACTION: u32 = 20;
const HALF: i32 = 1 << (FRACTION - 1);
const PARTS_A_LEVEL: f64 = 255.0 * (1 << FRACTION) as f64;

/// How luma and chroma give red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Matrix {
    /// The planes are green, blue and red.
    Identity,
    /// Chroma is the difference to green (YCgCo).
    GreenDifference,
    /// Chroma is the difference of blue and red to luma, which is a weighted sum.
    Weighted {
        /// The weight of red.
        red: f64,
        /// The weight of blue.
        blue: f64,
    },
}

impl Matrix {
    /// Returns the matrix of a number in ITU-T H.273. Where it is unspecified, it is that of
    /// BT.601, as in libavif. `None` for one that libavif does not convert.
    pub(crate) fn numbered(number: u16) -> Option<Self> {
        let (red, blue) = match number {
            0 => return Some(Self::Identity),
            8 => return Some(Self::GreenDifference),
            1 => (0.2126, 0.0722),
            2 | 5 | 6 => (0.299, 0.114),
            4 => (0.3, 0.11),
            7 => (0.212, 0.087),
            9 => (0.2627, 0.0593),
            _ => return None,
        };
        Some(Self::Weighted { red, blue })
    }
}

/// The range and depth of samples.
#[derive(Debug, Clone, Copy)]
struct Samples {
    /// The value of black.
    black: i32,
    /// The value of chroma without colour.
    grey: i32,
    /// Number of steps from black to white.
    luma_steps: i32,
    /// Number of steps from the least to the greatest chroma.
    chroma_steps: i32,
}

impl Samples {
    fn new(depth: usize, full_range: bool) -> Self {
        let greatest = (1 << depth) - 1;
        let more = depth.saturating_sub(8);
        let grey = 1 << (depth - 1);
        if full_range {
            Self { black: 0, grey, luma_steps: greatest, chroma_steps: greatest }
        } else {
            Self { black: 16 << more, grey, luma_steps: 219 << more, chroma_steps: 224 << more }
        }
    }
}

/// By what differences are multiplied, in parts of a level.
#[derive(Debug, Clone, Copy)]
struct Factors {
    luma: i32,
    /// For each of red, green and blue: the factors of both planes of chroma.
    chroma: [[i32; 2]; 3],
}

impl Factors {
    fn new(matrix: Matrix, samples: Samples) -> Self {
        // Each is one product and one quotient of exact numbers, so it is the same everywhere.
        let of_luma =
            |factor: f64| (factor * PARTS_A_LEVEL / f64::from(samples.luma_steps)).round() as i32;
        let of_chroma =
            |factor: f64| (factor * PARTS_A_LEVEL / f64::from(samples.chroma_steps)).round() as i32;
        let chroma = match matrix {
            Matrix::Identity => [[0, of_luma(1.0)], [0, 0], [of_luma(1.0), 0]],
            Matrix::GreenDifference => {
                let one = of_chroma(1.0);
                [[-one, one], [one, 0], [-one, -one]]
            }
            Matrix::Weighted { red, blue } => {
                let green = 1.0 - red - blue;
                let (of_red, of_blue) = (2.0 * (1.0 - red), 2.0 * (1.0 - blue));
                let less = [-blue * of_blue / green, -red * of_red / green].map(of_chroma);
                [[0, of_chroma(of_red)], less, [of_chroma(of_blue), 0]]
            }
        };
        Self { luma: of_luma(1.0), chroma }
    }
}

/// A plane of a picture whose samples are read by row.
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

    /// Writes a row into `samples`. A row below the last one is that one.
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

/// A plane of chroma, read as if it had as many samples as luma.
struct Chroma {
    rows: Rows,
    layout: PixelLayout,
    near: Vec<i32>,
    far: Vec<i32>,
}

impl Chroma {
    fn new(picture: &Picture, component: PlanarImageComponent) -> Self {
        let rows = Rows::new(picture, component);
        Self { rows, layout: picture.pixel_layout(), near: Vec::new(), far: Vec::new() }
    }

    /// Writes `width` samples of row `y` of the picture.
    fn read(&mut self, y: usize, width: usize, samples: &mut Vec<i32>) {
        if self.layout == PixelLayout::I444 {
            return self.rows.read(y, samples);
        }
        // Rows are weighted 3 to 1, and so are columns; without rows to weigh all is as it is.
        if self.layout == PixelLayout::I420 {
            self.rows.read(y / 2, &mut self.near);
            let far = if y % 2 == 0 { (y / 2).saturating_sub(1) } else { y / 2 + 1 };
            self.rows.read(far, &mut self.far);
            for (near, far) in self.near.iter_mut().zip(&self.far) {
                *near = *near * 3 + far;
            }
        } else {
            self.rows.read(y, &mut self.near);
        }
        let shift = if self.layout == PixelLayout::I420 { 4 } else { 2 };
        let last = self.near.len() - 1;
        samples.clear();
        samples.extend((0..width).map(|x| {
            let near = x / 2;
            let far = if x % 2 == 0 { near.saturating_sub(1) } else { (near + 1).min(last) };
            (self.near[near] * 3 + self.near[far] + (1 << (shift - 1))) >> shift
        }));
    }
}

/// Converts a picture of colours to opaque RGBA. `None` if it has fewer samples of chroma and the
/// matrix needs as many as of luma.
pub(crate) fn rgba(picture: &Picture, matrix: Matrix, full_range: bool) -> Option<Vec<u8>> {
    let layout = picture.pixel_layout();
    let is_grey = layout == PixelLayout::I400;
    if matrix == Matrix::Identity && !matches!(layout, PixelLayout::I444 | PixelLayout::I400) {
        return None;
    }
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let luma = Rows::new(picture, PlanarImageComponent::Y);
    let samples = Samples::new(picture.bit_depth(), full_range);
    let factors = Factors::new(matrix, samples);
    // The planes of the identity are no differences.
    let grey = if matrix == Matrix::Identity { samples.black } else { samples.grey };
    let mut rgba = Vec::with_capacity(width * height * 4);
    let (mut ys, mut us, mut vs) = (Vec::new(), vec![grey; width], vec![grey; width]);
    let mut chroma = (!is_grey).then(|| {
        [PlanarImageComponent::U, PlanarImageComponent::V]
            .map(|component| Chroma::new(picture, component))
    });
    for y in 0..height {
        luma.read(y, &mut ys);
        if let Some([u, v]) = &mut chroma {
            u.read(y, width, &mut us);
            v.read(y, width, &mut vs);
        }
        for ((y, u), v) in ys.iter().zip(&us).zip(&vs) {
            let (u, v) = (u - grey, v - grey);
            let base = (y - samples.black) * factors.luma + HALF;
            for (channel, [of_u, of_v]) in factors.chroma.into_iter().enumerate() {
                // Of the identity, luma is green alone.
                let is_apart = matrix == Matrix::Identity && !is_grey && channel != 1;
                let base = if is_apart { HALF } else { base };
                let level = (base + u * of_u + v * of_v) >> FRACTION;
                rgba.push(level.clamp(0, 255) as u8);
            }
            rgba.push(255);
        }
    }
    Some(rgba)
}

/// Sets the opacity of `rgba` to the luma of a picture with the same sides, and divides colours
/// that were multiplied by it.
pub(crate) fn add_opacity(
    rgba: &mut [u8],
    picture: &Picture,
    full_range: bool,
    is_premultiplied: bool,
) {
    let luma = Rows::new(picture, PlanarImageComponent::Y);
    let samples = Samples::new(picture.bit_depth(), full_range);
    let factors = Factors::new(Matrix::Identity, samples);
    let mut row = Vec::new();
    for (y, pixels) in rgba.chunks_exact_mut(luma.width * 4).enumerate() {
        luma.read(y, &mut row);
        for (pixel, sample) in pixels.as_chunks_mut::<4>().0.iter_mut().zip(&row) {
            let level = ((sample - samples.black) * factors.luma + HALF) >> FRACTION;
            let opacity = level.clamp(0, 255);
            pixel[3] = opacity as u8;
            if is_premultiplied && opacity > 0 {
                for colour in &mut pixel[..3] {
                    *colour = ((i32::from(*colour) * 255 + opacity / 2) / opacity).min(255) as u8;
                }
            }
        }
    }
}
