//! Reads the coefficients of a JPEG without subsampling, such as the map's tiles. Unlike
//! [`super::decode`], this rejects incomplete files.

use super::{
    frame::Segments,
    input::{Input, Stop},
    scan::{self, BlockCoefficients, BlockTarget},
};

const COMPONENTS: usize = 3;
/// Maximum bits in a baseline file's coefficient, without the sign (T.81, F.1.2.2.1).
const MAX_COEFFICIENT_BITS: u32 = 11;

#[derive(Debug)]
pub(crate) struct BlockPicture {
    pub(crate) sides: (usize, usize),
    pub(crate) quantization: [[u16; 64]; 2],
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
        Stop::Cut => "the file ends early",
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
        return Err(Stop::Fault("not a sequential JPEG with three components and no subsampling"));
    }
    let sides = frame.sides;
    if !is_side(sides.0) || !is_side(sides.1) {
        return Err(Stop::Fault("width or height is too large or not a multiple of 8"));
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
        return Err(Stop::Fault("malformed scan"));
    }
    match segments.next_scan(&mut input)? {
        None => Ok(BlockPicture { sides, quantization: [luma, chroma], blocks: target.blocks }),
        Some(_) => Err(Stop::Fault("more than one scan")),
    }
}
