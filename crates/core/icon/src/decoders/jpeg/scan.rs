//! Decodes a scan's data to coefficients (ITU-T T.81, annexes F and G). Damaged data give the same
//! coefficients as in libjpeg.

use super::{
    frame::{Component, Frame, ORDER, ScanHeader, Segments},
    huffman::{Huffman, ScanBits},
    input::{Input, Stop},
};

pub(super) type BlockCoefficients = [i16; 64];

struct Decoder<'s, 'a> {
    bits: ScanBits<'s, 'a>,
    last: [i32; 4],
    /// Number of blocks, from the next one on, without new coefficients in this band (EOBRUN).
    empty_blocks: i32,
    interval: usize,
    until_restart: usize,
    next_restart: u8,
}

#[derive(Clone, Copy)]
enum Coding<'t> {
    Sequential { dc: &'t Huffman, ac: &'t Huffman },
    FirstDc(&'t Huffman),
    LaterDc,
    FirstAc(&'t Huffman),
    LaterAc(&'t Huffman),
}

pub(super) trait BlockTarget {
    fn block(&mut self, component: usize, column: usize, row: usize) -> &mut BlockCoefficients;
    /// Called after the block that [`BlockTarget::block`] returned last is complete.
    fn finish_block(&mut self, component: usize, column: usize, row: usize);
    /// Called with the frame's unit row before each unit, until the data end.
    fn reach(&mut self, unit_row: usize);
    fn finish_row(&mut self);
}

/// Decodes a scan into `target`. If a marker appears too early, the blocks after the end of the
/// data do not change.
pub(super) fn read(
    segments: &Segments<'_>,
    scan: &ScanHeader,
    input: &mut Input<'_>,
    target: &mut impl BlockTarget,
) -> Result<(), Stop> {
    let frame = segments.frame()?;
    let codings: Vec<Coding<'_>> = scan
        .components
        .iter()
        .map(|&index| coding(segments, frame, scan, &frame.components[index]))
        .collect::<Result<_, _>>()?;
    let interval = segments.restart_interval;
    let mut decoder = Decoder {
        bits: ScanBits::new(input),
        last: [0; 4],
        empty_blocks: 0,
        interval,
        until_restart: interval,
        next_restart: 0,
    };
    if let ([index], [coding]) = (&scan.components[..], &codings[..]) {
        let component = &frame.components[*index];
        let (across, down) = component.blocks;
        for y in 0..down {
            for x in 0..across {
                if !decoder.bits.starved {
                    target.reach(y / component.sampling.1);
                }
                match decoder.start_unit()? {
                    Unit::Read => {
                        decoder.block(scan, *coding, 0, target.block(*index, x, y))?;
                        target.finish_block(*index, x, y);
                    }
                    Unit::Missing => {}
                    Unit::End => return Ok(()),
                }
            }
            if (y + 1).is_multiple_of(component.sampling.1) || y + 1 == down {
                target.finish_row();
            }
        }
        return Ok(());
    }
    for unit_y in 0..frame.units.1 {
        for unit_x in 0..frame.units.0 {
            if !decoder.bits.starved {
                target.reach(unit_y);
            }
            match decoder.start_unit()? {
                Unit::Read => {}
                Unit::Missing => continue,
                Unit::End => return Ok(()),
            }
            for (slot, (&index, &coding)) in scan.components.iter().zip(&codings).enumerate() {
                let (across, down) = frame.components[index].sampling;
                for y in unit_y * down..(unit_y + 1) * down {
                    for x in unit_x * across..(unit_x + 1) * across {
                        decoder.block(scan, coding, slot, target.block(index, x, y))?;
                        target.finish_block(index, x, y);
                    }
                }
            }
        }
        target.finish_row();
    }
    Ok(())
}

fn coding<'t>(
    segments: &'t Segments<'_>,
    frame: &Frame,
    scan: &ScanHeader,
    component: &Component,
) -> Result<Coding<'t>, Stop> {
    let (dc, ac) = component.tables;
    let dc = || {
        let table = found(&segments.dc, dc)?;
        if table.within(15) { Ok(table) } else { Err(Stop::Fault("bad Huffman table")) }
    };
    let ac = || found(&segments.ac, ac);
    Ok(match (frame.progressive, scan.band.0, scan.refines) {
        (false, ..) => Coding::Sequential { dc: dc()?, ac: ac()? },
        (true, 0, false) => Coding::FirstDc(dc()?),
        (true, 0, true) => Coding::LaterDc,
        (true, _, false) => Coding::FirstAc(ac()?),
        (true, _, true) => Coding::LaterAc(ac()?),
    })
}

fn found(tables: &[Option<Option<Huffman>>; 4], number: usize) -> Result<&Huffman, Stop> {
    let table =
        tables.get(number).and_then(Option::as_ref).ok_or(Stop::Fault("no Huffman table"))?;
    table.as_ref().ok_or(Stop::Fault("bad Huffman table"))
}

enum Unit {
    Read,
    Missing,
    End,
}

impl Decoder<'_, '_> {
    fn start_unit(&mut self) -> Result<Unit, Stop> {
        if self.interval > 0 {
            if self.until_restart == 0 {
                self.bits.restart(self.next_restart)?;
                self.last = [0; 4];
                self.empty_blocks = 0;
                self.until_restart = self.interval;
                self.next_restart = (self.next_restart + 1) & 7;
            }
            self.until_restart -= 1;
        }
        Ok(if !self.bits.starved {
            Unit::Read
        } else if self.interval > 0 {
            Unit::Missing
        } else {
            Unit::End
        })
    }

    #[inline]
    fn block(
        &mut self,
        scan: &ScanHeader,
        coding: Coding<'_>,
        slot: usize,
        block: &mut BlockCoefficients,
    ) -> Result<(), Stop> {
        match coding {
            Coding::Sequential { dc, ac } => self.sequential(dc, ac, slot, block),
            Coding::FirstDc(dc) => {
                let value = self.dc(dc, slot)?;
                block[0] = (value << scan.shift) as i16;
                Ok(())
            }
            Coding::LaterDc => {
                if self.bits.take(1)? != 0 {
                    block[0] |= 1 << scan.shift;
                }
                Ok(())
            }
            Coding::FirstAc(ac) => self.first_ac(ac, scan, block),
            Coding::LaterAc(ac) => self.later_ac(ac, scan, block),
        }
    }

    /// A DC coefficient is stored as the difference from the previous one.
    #[inline]
    fn dc(&mut self, dc: &Huffman, slot: usize) -> Result<i32, Stop> {
        let size = self.bits.symbol(dc)?;
        if size > 0 {
            let difference = self.bits.signed(u32::from(size))?;
            self.last[slot] = self.last[slot].wrapping_add(difference);
        }
        Ok(self.last[slot])
    }

    fn sequential(
        &mut self,
        dc: &Huffman,
        ac: &Huffman,
        slot: usize,
        block: &mut BlockCoefficients,
    ) -> Result<(), Stop> {
        block[0] = self.dc(dc, slot)? as i16;
        let mut at = 1;
        while at < 64 {
            let symbol = self.bits.symbol(ac)?;
            let (zeros, size) = (usize::from(symbol >> 4), symbol & 15);
            if size > 0 {
                at += zeros;
                block[usize::from(ORDER[at])] = self.bits.signed(u32::from(size))? as i16;
            } else if zeros == 15 {
                at += 15;
            } else {
                break;
            }
            at += 1;
        }
        Ok(())
    }

    /// Reads the number of blocks without further coefficients, which is 2^`exponent` plus a number
    /// with `exponent` bits.
    fn read_empty_blocks(&mut self, exponent: u8) -> Result<(), Stop> {
        self.empty_blocks = 1 << exponent;
        if exponent > 0 {
            self.empty_blocks += self.bits.take(u32::from(exponent))?;
        }
        Ok(())
    }

    fn first_ac(
        &mut self,
        ac: &Huffman,
        scan: &ScanHeader,
        block: &mut BlockCoefficients,
    ) -> Result<(), Stop> {
        let (mut at, last) = scan.band;
        while self.empty_blocks == 0 && at <= last {
            let symbol = self.bits.symbol(ac)?;
            let (zeros, size) = (symbol >> 4, symbol & 15);
            if size > 0 {
                at += usize::from(zeros);
                let value = self.bits.signed(u32::from(size))?;
                block[usize::from(ORDER[at])] = (value << scan.shift) as i16;
            } else if zeros == 15 {
                at += 15;
            } else {
                self.read_empty_blocks(zeros)?;
            }
            at += 1;
        }
        self.empty_blocks = (self.empty_blocks - 1).max(0);
        Ok(())
    }

    fn later_ac(
        &mut self,
        ac: &Huffman,
        scan: &ScanHeader,
        block: &mut BlockCoefficients,
    ) -> Result<(), Stop> {
        // One bit per coefficient that becomes nonzero in this scan.
        let mut found = 0u64;
        let read = self.read_later_ac(ac, scan, block, &mut found);
        if read.is_err() {
            // Like libjpeg, reset these coefficients to zero if the data end inside the block.
            for (index, coefficient) in block.iter_mut().enumerate() {
                *coefficient *= i16::from(found >> index & 1 == 0);
            }
        }
        read
    }

    fn read_later_ac(
        &mut self,
        ac: &Huffman,
        scan: &ScanHeader,
        block: &mut BlockCoefficients,
        found: &mut u64,
    ) -> Result<(), Stop> {
        let bit = 1i16 << scan.shift;
        let (mut at, last) = scan.band;
        while self.empty_blocks == 0 && at <= last {
            let symbol = self.bits.symbol(ac)?;
            let (zeros, size) = (symbol >> 4, symbol & 15);
            let mut value = 0;
            if size > 0 {
                value = if self.bits.take(1)? != 0 { bit } else { -bit };
            } else if zeros < 15 {
                self.read_empty_blocks(zeros)?;
                break;
            }
            at = self.refine(scan, block, at, usize::from(zeros))?;
            if value != 0 {
                block[usize::from(ORDER[at])] = value;
                *found |= 1 << ORDER[at];
            }
            at += 1;
        }
        if self.empty_blocks > 0 {
            self.refine(scan, block, at, last + 1)?;
            self.empty_blocks -= 1;
        }
        Ok(())
    }

    /// Reads a further bit for each nonzero coefficient from `at` on. Skips `zeros` zero
    /// coefficients, and returns the position of the next zero coefficient, or the position after
    /// the band.
    fn refine(
        &mut self,
        scan: &ScanHeader,
        block: &mut BlockCoefficients,
        mut at: usize,
        mut zeros: usize,
    ) -> Result<usize, Stop> {
        let bit = 1i16 << scan.shift;
        while at <= scan.band.1 {
            let coefficient = &mut block[usize::from(ORDER[at])];
            if *coefficient == 0 {
                if zeros == 0 {
                    break;
                }
                zeros -= 1;
            } else if self.bits.take(1)? != 0 && *coefficient & bit == 0 {
                let step = if *coefficient >= 0 { bit } else { -bit };
                *coefficient = coefficient.wrapping_add(step);
            }
            at += 1;
        }
        Ok(at)
    }
}
