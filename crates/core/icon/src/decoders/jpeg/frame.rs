//! Reads a JPEG's segments before and between the scans. Where ITU-T T.81, annex B, allows several
//! interpretations, we follow libjpeg, because browsers use it.

use super::{
    default_codes,
    huffman::Huffman,
    input::{Input, Stop},
};

/// The zigzag order of the coefficients in a file, by rising frequency.
#[rustfmt::skip]
pub(crate) const ZIGZAG: [usize; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];
/// Natural position of each coefficient, in file order. There are 16 additional entries, because a
/// run of zeros in a damaged file may lead past the end.
pub(super) const ORDER: [u8; 64 + 16] = {
    let mut order = [63; 64 + 16];
    let mut index = 0;
    while index < ZIGZAG.len() {
        order[index] = ZIGZAG[index] as u8;
        index += 1;
    }
    order
};
/// Maximum blocks per unit (MCU) in an interleaved scan (T.81, B.2.3).
const MAX_UNIT_BLOCKS: usize = 10;
/// Maximum sampling factor (T.81, B.2.2).
const MAX_SAMPLING: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComponentColours {
    Grey,
    YCbCr,
    Rgb,
    /// Cyan, magenta, yellow and black, inverted as Adobe's software writes them.
    Cmyk,
    Ycck,
}

#[derive(Debug, Clone)]
pub(super) struct Component {
    id: u8,
    pub(super) sampling: (usize, usize),
    quantisation: usize,
    /// The quantisation table at the component's first scan, in natural order.
    pub(super) quantisers: Option<[u16; 64]>,
    pub(super) samples: (usize, usize),
    pub(super) blocks: (usize, usize),
    /// Blocks per row and per column, including those that only fill the last units.
    pub(super) padded: (usize, usize),
    pub(super) tables: (usize, usize),
}

#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) sides: (usize, usize),
    pub(super) progressive: bool,
    pub(super) components: Vec<Component>,
    pub(super) sampling: (usize, usize),
    pub(super) units: (usize, usize),
}

#[derive(Debug, Clone)]
pub(super) struct ScanHeader {
    pub(super) components: Vec<usize>,
    /// First and last coefficient in a progressive scan, in file order.
    pub(super) band: (usize, usize),
    /// True if earlier scans contained the higher bits of these coefficients.
    pub(super) refines: bool,
    /// Number of lower bits that later scans contain.
    pub(super) shift: u32,
}

enum Segment {
    Scan(ScanHeader),
    End,
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Segments<'a> {
    pub(super) frame: Option<Frame>,
    quantisers: [Option<[u16; 64]>; 4],
    /// The inner `None` in `dc` and `ac` is an invalid table.
    pub(super) dc: [Option<Option<Huffman>>; 4],
    pub(super) ac: [Option<Option<Huffman>>; 4],
    /// Units between restart markers, or 0 if there are none.
    pub(super) restart_interval: usize,
    has_jfif: bool,
    adobe: Option<u8>,
    /// The first EXIF data before the first scan, which start with a TIFF header.
    pub(super) exif: Option<&'a [u8]>,
    has_scan: bool,
}

impl<'a> Segments<'a> {
    pub(super) fn frame(&self) -> Result<&Frame, Stop> {
        self.frame.as_ref().ok_or(Stop::Fault("no frame header"))
    }

    pub(super) fn read_to_frame(&mut self, input: &mut Input<'a>) -> Result<(), Stop> {
        while self.frame.is_none() {
            match self.next_segment(input)? {
                Segment::Other => {}
                Segment::End | Segment::Scan(_) => return Err(Stop::Fault("no frame header")),
            }
        }
        Ok(())
    }

    pub(super) fn next_scan(&mut self, input: &mut Input<'a>) -> Result<Option<ScanHeader>, Stop> {
        loop {
            match self.next_segment(input)? {
                Segment::Other => {}
                Segment::End => return Ok(None),
                Segment::Scan(scan) => return Ok(Some(scan)),
            }
        }
    }

    fn next_segment(&mut self, input: &mut Input<'a>) -> Result<Segment, Stop> {
        let marker = match input.marker {
            Some(marker) => marker,
            None => input.next_marker()?,
        };
        input.marker = None;
        match marker {
            0xC0..=0xC2 => self.read_frame(input, marker == 0xC2)?,
            0xC4 => self.read_huffman(input)?,
            0xD0..=0xD7 | 0x01 => {}
            0xD9 => return Ok(Segment::End),
            0xDA => return self.read_scan(input).map(Segment::Scan),
            0xDB => self.read_quantisers(input)?,
            0xDD if input.length()? != 2 => return Err(Stop::Fault("bad restart interval")),
            0xDD => {
                let interval = u16::from_be_bytes([input.byte()?, input.byte()?]);
                self.restart_interval = usize::from(interval);
            }
            0xE0..=0xEF => self.read_application(marker, input.segment()?),
            // Skip arithmetic conditioning (DAC), number of lines (DNL) and comments (COM).
            0xCC | 0xDC | 0xFE => {
                input.segment()?;
            }
            0xC3 | 0xC5..=0xCF => return Err(Stop::Fault("unsupported JPEG type")),
            _ => return Err(Stop::Fault("unknown marker")),
        }
        Ok(Segment::Other)
    }

    fn read_application(&mut self, marker: u8, contents: &'a [u8]) {
        match (marker, contents) {
            (0xE0, [b'J', b'F', b'I', b'F', 0, _, _, _, _, _, _, _, _, _, ..]) => {
                self.has_jfif = true;
            }
            (0xEE, [b'A', b'd', b'o', b'b', b'e', _, _, _, _, _, _, transform, ..]) => {
                self.adobe = Some(*transform);
            }
            (0xE1, [b'E', b'x', b'i', b'f', 0, _, tiff @ ..])
                if !self.has_scan && !tiff.is_empty() =>
            {
                self.exif = self.exif.or(Some(tiff));
            }
            _ => {}
        }
    }

    fn read_quantisers(&mut self, input: &mut Input<'_>) -> Result<(), Stop> {
        let fault = Stop::Fault("bad quantisation table");
        let mut left = input.length()?;
        while left > 0 {
            let head = input.byte()?;
            let wide = head >> 4 != 0;
            let slot = self.quantisers.get_mut(usize::from(head & 15)).ok_or(fault)?;
            let values = input.take(if wide { 128 } else { 64 })?;
            let mut table = [0; 64];
            for (index, &position) in ORDER[..64].iter().enumerate() {
                table[usize::from(position)] = if wide {
                    u16::from_be_bytes([values[index * 2], values[index * 2 + 1]])
                } else {
                    u16::from(values[index])
                };
            }
            *slot = Some(table);
            left = left.checked_sub(1 + values.len()).ok_or(fault)?;
        }
        Ok(())
    }

    fn read_huffman(&mut self, input: &mut Input<'_>) -> Result<(), Stop> {
        let fault = Stop::Fault("bad Huffman table");
        let mut left = input.length()?;
        while left > 16 {
            let head = input.byte()?;
            let counts = input.take(16)?.first_chunk().ok_or(fault)?;
            let count = counts.iter().map(|&count| usize::from(count)).sum();
            left -= 17;
            if count > left.min(256) {
                return Err(fault);
            }
            let symbols = input.take(count)?;
            left -= count;
            let tables = if head & 0x10 == 0 { &mut self.dc } else { &mut self.ac };
            // An invalid code is an error only if a scan uses it.
            *tables.get_mut(usize::from(head & !0x10)).ok_or(fault)? =
                Some(Huffman::new(counts, symbols));
        }
        if left == 0 { Ok(()) } else { Err(fault) }
    }

    fn read_frame(&mut self, input: &mut Input<'_>, progressive: bool) -> Result<(), Stop> {
        let fault = Stop::Fault("bad frame header");
        let length = input.length()?;
        let &[precision, h1, h0, w1, w0, count] = input.take(6)? else { return Err(fault) };
        let width = usize::from(u16::from_be_bytes([w1, w0]));
        let height = usize::from(u16::from_be_bytes([h1, h0]));
        let supported = precision == 8 && matches!(count, 1 | 3 | 4);
        let components_length = usize::from(count) * 3;
        if !supported || length != 6 + components_length || self.frame.is_some() {
            return Err(fault);
        }
        if width == 0 || height == 0 {
            return Err(fault);
        }
        let components = input.take(components_length)?.as_chunks::<3>().0;
        let samplings: Vec<(usize, usize)> = components
            .iter()
            .map(|[_, sampling, _]| (usize::from(sampling >> 4), usize::from(sampling & 15)))
            .collect();
        let allowed = 1..=MAX_SAMPLING;
        if !samplings
            .iter()
            .all(|(across, down)| allowed.contains(across) && allowed.contains(down))
        {
            return Err(fault);
        }
        let across = samplings.iter().map(|sampling| sampling.0).max().unwrap_or(1);
        let down = samplings.iter().map(|sampling| sampling.1).max().unwrap_or(1);
        let units = (width.div_ceil(across * 8), height.div_ceil(down * 8));
        let component = |(&[id, _, quantisation], &sampling): (&[u8; 3], &(usize, usize))| {
            let samples =
                ((width * sampling.0).div_ceil(across), (height * sampling.1).div_ceil(down));
            Component {
                id,
                sampling,
                quantisation: usize::from(quantisation),
                quantisers: None,
                samples,
                blocks: (samples.0.div_ceil(8), samples.1.div_ceil(8)),
                padded: (units.0 * sampling.0, units.1 * sampling.1),
                tables: (0, 0),
            }
        };
        self.frame = Some(Frame {
            sides: (width, height),
            progressive,
            components: components.iter().zip(&samplings).map(component).collect(),
            sampling: (across, down),
            units,
        });
        Ok(())
    }

    fn read_scan(&mut self, input: &mut Input<'_>) -> Result<ScanHeader, Stop> {
        let fault = Stop::Fault("bad scan header");
        let frame = self.frame.as_mut().ok_or(Stop::Fault("a scan before the frame header"))?;
        let length = input.length()?;
        let count = input.byte()?;
        if !(1..=4).contains(&count) || length != 4 + 2 * usize::from(count) {
            return Err(fault);
        }
        let selected = input.take(usize::from(count) * 2)?.as_chunks::<2>().0;
        let &[first, last, bits] = input.take(3)? else { return Err(fault) };
        let mut components: Vec<usize> = Vec::new();
        for selected in selected {
            // If components have equal ids, select each of them once, in order.
            let found = (components.len()..frame.components.len())
                .find(|&index| frame.components[index].id == selected[0])
                .ok_or(fault)?;
            if components.contains(&found) {
                return Err(fault);
            }
            let component = &mut frame.components[found];
            component.tables = (usize::from(selected[1] >> 4), usize::from(selected[1] & 15));
            if component.quantisers.is_none() {
                let table = self.quantisers.get(component.quantisation).copied().flatten();
                component.quantisers = Some(table.ok_or(Stop::Fault("no quantisation table"))?);
            }
            components.push(found);
        }
        let blocks = |&index: &usize| {
            let (across, down) = frame.components[index].sampling;
            across * down
        };
        if components.len() > 1 && components.iter().map(blocks).sum::<usize>() > MAX_UNIT_BLOCKS {
            return Err(Stop::Fault("too many blocks in a unit"));
        }
        let (high, low) = (bits >> 4, bits & 15);
        let band = (usize::from(first), usize::from(last));
        let legal = match band {
            (0, last) => last == 0,
            (first, last) => first <= last && last < 64 && components.len() == 1,
        };
        let refines = high != 0;
        if frame.progressive && !(legal && low <= 13 && (!refines || low + 1 == high)) {
            return Err(Stop::Fault("bad progression"));
        }
        if !frame.progressive && !self.has_scan {
            // Motion JPEG frames omit the typical tables.
            for (table, (dc, ac)) in default_codes::ALL.iter().enumerate() {
                self.dc[table].get_or_insert_with(|| Huffman::new(&dc.0, dc.1));
                self.ac[table].get_or_insert_with(|| Huffman::new(&ac.0, ac.1));
            }
        }
        self.has_scan = true;
        Ok(ScanHeader { components, band, refines, shift: u32::from(low) })
    }

    pub(super) fn colours(&self, frame: &Frame) -> ComponentColours {
        let ids: Vec<u8> = frame.components.iter().map(|component| component.id).collect();
        match (ids.len(), self.adobe) {
            (1, _) => ComponentColours::Grey,
            (3, _) if self.has_jfif => ComponentColours::YCbCr,
            (3, Some(0)) => ComponentColours::Rgb,
            (3, None) if ids == *b"RGB" => ComponentColours::Rgb,
            (3, _) => ComponentColours::YCbCr,
            (_, None | Some(0)) => ComponentColours::Cmyk,
            _ => ComponentColours::Ycck,
        }
    }
}
