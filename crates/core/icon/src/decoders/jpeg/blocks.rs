//! Reads the coefficients of a JPEG without subsampling, in which a block covers 8x8 pixels in
//! every component. The map's tiles are such files.
//!
//! Invariant: unlike [`super::decode`], this rejects incomplete files.

use super::{
    frame::Segments,
    input::{Input, Stop},
    scan::{self, BlockCoefficients, BlockTarget},
};

/// Number of components: Y (luma), Cb and Cr (chroma).
const COMPONENTS: usize = 3;
/// Maximum bits in a baseline file's coefficient, without the sign (T.81, F.1.2.2.1).
const MAX_COEFFICIENT_BITS: u32 = 11;

/// A picture's coefficients and quantization tables, in natural order.
#[derive(Debug)]
pub(crate) struct BlockPicture {
    /// Width and height in pixels, which are multiples of 8.
    pub(crate) sides: (usize, usize),
    /// The quantization tables of luma and chroma. Their values are 1 to 255.
    pub(crate) quantization: [[u16; 64]; 2],
    /// The blocks, row by row, each with its three components.
    pub(crate) blocks: Vec<[BlockCoefficients; COMPONENTS]>,
}

struct Blocks {
    across: usize,
    blocks: Vec<[BlockCoefficients; COMPONENTS]>,
}

impl BlockTarget for Blocks {
    fn block(&mut self, component: usize, column: usize, row: usize) -> &mut BlockCoefficients {
        &mut self.blocks[row * self.across + column][component]
    }

    fn finish_block(&mut self, _: usize, _: usize, _: usize) {}

    fn reach(&mut self, _: usize) {}

    fn finish_row(&mut self) {}
}

/// Reads a sequential JPEG with one scan and three components, without subsampling. Its width and
/// height must be multiples of 8 and at most `max_side`.
///
/// # Errors
/// Returns an error if the file is not such a picture.
pub(crate) fn read_blocks(bytes: &[u8], max_side: usize) -> Result<BlockPicture, &'static str> {
    read(bytes, max_side).map_err(|stop| match stop {
        Stop::Cut => "it ends early",
        Stop::Fault(reason) => reason,
    })
}

fn read(bytes: &[u8], max_side: usize) -> Result<BlockPicture, Stop> {
    let bytes = bytes.strip_prefix(&[0xFF, 0xD8]).ok_or(Stop::Fault("no start of image"))?;
    let mut input = Input::new(bytes);
    let mut segments = Segments::default();
    let scan = segments.next_scan(&mut input)?.ok_or(Stop::Fault("no scan"))?;
    let frame = segments.frame()?;
    let is_side = |side: usize| side <= max_side && side.is_multiple_of(8);
    let is_whole = frame.components.iter().all(|component| component.sampling == (1, 1));
    if frame.progressive || !is_whole || scan.components != [0, 1, 2] {
        return Err(Stop::Fault("another kind of JPEG"));
    }
    let sides = frame.sides;
    if !is_side(sides.0) || !is_side(sides.1) {
        return Err(Stop::Fault("its sides are refused"));
    }
    let [luma, chroma, other] = [0, 1, 2].map(|index| frame.components[index].quantisers);
    let quantization = luma.zip(chroma).filter(|(luma, chroma)| {
        other == Some(*chroma) && luma.iter().chain(chroma).all(|value| (1..=255).contains(value))
    });
    let (luma, chroma) = quantization.ok_or(Stop::Fault("bad quantisation table"))?;
    let across = frame.units.0;
    let mut target = Blocks { across, blocks: vec![[[0; 64]; COMPONENTS]; across * frame.units.1] };
    scan::read(&segments, &scan, &mut input, &mut target)?;
    let is_coefficient = |value: &i16| value.unsigned_abs() < 1 << MAX_COEFFICIENT_BITS;
    if input.starved || !target.blocks.as_flattened().as_flattened().iter().all(is_coefficient) {
        return Err(Stop::Fault("its scan is malformed"));
    }
    match segments.next_scan(&mut input)? {
        None => Ok(BlockPicture { sides, quantization: [luma, chroma], blocks: target.blocks }),
        Some(_) => Err(Stop::Fault("more than one scan")),
    }
}
