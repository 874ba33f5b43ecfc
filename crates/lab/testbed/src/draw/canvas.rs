//! Pixels in RGBA with straight (not premultiplied) alpha, row by row from the top.

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Canvas {
    pub(super) size: u32,
    pub(super) pixels: Vec<[u8; 4]>,
}

impl Canvas {
    pub(super) fn rgba(&self) -> Vec<u8> {
        self.pixels.as_flattened().to_vec()
    }

    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, [u8; 4]> {
        self.pixels.chunks_exact(self.size.max(1) as usize)
    }

    pub(super) fn on(&self, background: [u8; 3]) -> Self {
        let over = |pixel: &[u8; 4]| {
            let alpha = u32::from(pixel[3]);
            let mix = |at: usize| {
                let sum = u32::from(pixel[at]) * alpha + u32::from(background[at]) * (255 - alpha);
                ((sum + 127) / 255) as u8
            };
            [mix(0), mix(1), mix(2), 255]
        };
        Self { size: self.size, pixels: self.pixels.iter().map(over).collect() }
    }

    pub(super) fn indexed(&self, palette: &[[u8; 3]]) -> Vec<u8> {
        let mut last = ([0_u8; 4], None);
        let nearest = |pixel: &[u8; 4]| match last {
            (known, Some(index)) if known == *pixel => index,
            _ => {
                let index = nearest(pixel, palette);
                last = (*pixel, Some(index));
                index
            }
        };
        self.pixels.iter().map(nearest).collect()
    }
}

fn nearest(pixel: &[u8; 4], palette: &[[u8; 3]]) -> u8 {
    let distance = |colour: &[u8; 3]| -> u32 {
        let apart = |at: usize| u32::from(pixel[at].abs_diff(colour[at])).pow(2);
        apart(0) + apart(1) + apart(2)
    };
    let best = palette.iter().enumerate().min_by_key(|(_, colour)| distance(colour));
    best.map_or(0, |(index, _)| index as u8)
}
