//! Decodes a JPEG's scans to planes, and converts the planes to RGBA.

use super::{
    frame::{Component, Frame, ScanHeader, Segments},
    input::{Input, Stop},
    rows::{self, Plane},
    scan::{self, BlockCoefficients, BlockTarget},
    smoothing::Accuracy,
    transform::write_samples,
};

pub(super) struct ShownPicture<'a> {
    /// Rows at the bottom may be missing.
    pub(super) rgba: Vec<u8>,
    pub(super) exif: Option<&'a [u8]>,
}

pub(super) fn sides(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut segments = Segments::default();
    segments.read_to_frame(&mut Input::new(bytes.get(2..)?)).ok()?;
    segments.frame.map(|frame| frame.sides)
}

/// A picture with more than `max_scans` scans is an error, unless it is sequential and its first
/// scan has all components.
pub(super) fn decode(bytes: &[u8], max_scans: usize) -> Result<ShownPicture<'_>, String> {
    let mut input = Input::new(bytes.get(2..).unwrap_or_default());
    let mut segments = Segments::default();
    let first = segments.next_scan(&mut input)?.ok_or("no scan")?;
    let frame = segments.frame()?;
    let reach_over = rows::reach_over(frame).ok_or("unsupported subsampling")?;
    let (planes, unit_rows) =
        if !frame.progressive && first.components.len() == frame.components.len() {
            let mut target = OnePass::new(frame);
            match scan::read(&segments, &first, &mut input, &mut target) {
                Ok(()) => (target.planes, frame.units.1),
                Err(Stop::Cut) => (target.planes, target.unit_rows),
                Err(stop) => return Err(stop.into()),
            }
        } else {
            let mut target = Coefficients::new(frame);
            let unit_rows = target.read(&mut segments, first, &mut input, max_scans)?;
            (target.planes(segments.frame()?), unit_rows)
        };
    let frame = segments.frame()?;
    let rows = if unit_rows == frame.units.1 {
        frame.sides.1
    } else {
        // The last rows depend on the next row of units, which is missing.
        let waiting = if reach_over { frame.sampling.1 } else { 0 };
        (unit_rows * 8 * frame.sampling.1).saturating_sub(waiting)
    };
    if rows == 0 {
        return Err("no row received".to_owned());
    }
    let rgba = rows::rgba(&planes, frame, segments.colours(frame), rows);
    let rgba = rgba.ok_or("unsupported subsampling")?;
    Ok(ShownPicture { rgba, exif: segments.exif })
}

fn grey_planes(frame: &Frame) -> Vec<Plane> {
    let plane = |component: &Component| {
        let stride = component.padded.0 * 8;
        Plane { samples: vec![128; stride * component.padded.1 * 8], stride }
    };
    frame.components.iter().map(plane).collect()
}

struct OnePass {
    planes: Vec<Plane>,
    quantisers: Vec<[u16; 64]>,
    block: BlockCoefficients,
    unit_rows: usize,
}

impl OnePass {
    fn new(frame: &Frame) -> Self {
        let quantisers = |component: &Component| component.quantisers.unwrap_or([0; 64]);
        Self {
            planes: grey_planes(frame),
            quantisers: frame.components.iter().map(quantisers).collect(),
            block: [0; 64],
            unit_rows: 0,
        }
    }
}

impl BlockTarget for OnePass {
    fn block(&mut self, _: usize, _: usize, _: usize) -> &mut BlockCoefficients {
        self.block = [0; 64];
        &mut self.block
    }

    fn finish_block(&mut self, component: usize, column: usize, row: usize) {
        let quantisers = &self.quantisers[component];
        write_samples(&self.block, quantisers, &mut self.planes[component], column, row);
    }

    fn reach(&mut self, _: usize) {}

    fn finish_row(&mut self) {
        self.unit_rows += 1;
    }
}

struct Coefficients {
    components: Vec<(Vec<BlockCoefficients>, usize)>,
    unit_rows: usize,
    reached: usize,
    accuracy: Accuracy,
}

impl BlockTarget for Coefficients {
    fn block(&mut self, component: usize, column: usize, row: usize) -> &mut BlockCoefficients {
        let (blocks, across) = &mut self.components[component];
        &mut blocks[row * *across + column]
    }

    fn finish_block(&mut self, _: usize, _: usize, _: usize) {}

    fn reach(&mut self, unit_row: usize) {
        self.reached = unit_row;
    }

    fn finish_row(&mut self) {
        self.unit_rows += 1;
    }
}

impl Coefficients {
    fn new(frame: &Frame) -> Self {
        let blocks = |component: &Component| {
            let (across, down) = component.padded;
            (vec![[0; 64]; across * down], across)
        };
        Self {
            components: frame.components.iter().map(blocks).collect(),
            unit_rows: 0,
            reached: 0,
            accuracy: Accuracy::new(frame),
        }
    }

    fn read<'a>(
        &mut self,
        segments: &mut Segments<'a>,
        first: ScanHeader,
        input: &mut Input<'a>,
        max_scans: usize,
    ) -> Result<usize, Stop> {
        let frame = segments.frame()?;
        let progressive = frame.progressive;
        let all = frame.units.1;
        let mut without_dc: Vec<usize> = (0..frame.components.len()).collect();
        let mut scan = first;
        // Counts the scan by which every component has DC coefficients, and all scans after it.
        let mut complete_scans = 0;
        for _ in 0..max_scans {
            if scan.band.0 == 0 {
                without_dc.retain(|index| !scan.components.contains(index));
            }
            complete_scans += usize::from(without_dc.is_empty());
            self.accuracy.start_scan(&scan);
            self.unit_rows = 0;
            let next = scan::read(segments, &scan, input, self).and_then(|()| {
                self.unit_rows = all;
                segments.next_scan(input)
            });
            match next {
                Ok(Some(next)) => scan = next,
                Ok(None) => return Ok(all),
                // Chromium shows a sequential picture with several scans only if it is complete.
                Err(stop) if !progressive || complete_scans == 0 => return Err(stop),
                // If data are missing, Chromium treats a later fault as the end of the file.
                Err(stop @ Stop::Fault(_)) if !input.starved => return Err(stop),
                Err(_) if complete_scans > 1 => return Ok(all),
                // Chromium smooths a picture that has only DC coefficients. For this, libjpeg needs
                // two more unit rows.
                Err(_) if scan.band.0 == 0 => return Ok(self.unit_rows.saturating_sub(2)),
                Err(_) => return Ok(self.unit_rows),
            }
        }
        Err(Stop::Fault("too many scans"))
    }

    fn planes(&self, frame: &Frame) -> Vec<Plane> {
        let mut planes = grey_planes(frame);
        let smoothing = self.accuracy.smoothing(frame, self.reached);
        let components = self.components.iter().zip(&frame.components);
        for (index, ((blocks, across), component)) in components.enumerate() {
            let Some(quantisers) = &component.quantisers else { continue };
            let plane = &mut planes[index];
            let smoothing = smoothing.as_ref().map(|all| &all[index]);
            for row in 0..component.blocks.1 {
                for column in 0..component.blocks.0 {
                    let smoothed = smoothing.map(|all| all.smoothed(blocks, column, row));
                    let block = smoothed.as_ref().unwrap_or(&blocks[row * across + column]);
                    write_samples(block, quantisers, plane, column, row);
                }
            }
        }
        planes
    }
}
