//! Writes a JPEG file's scan.

use super::{
    huffman::{BitWriter, Codes, Counts, Table},
    transform::Block,
};
use crate::decoders::jpeg::ZIGZAG;

/// Y (luma), Cb and Cr (chroma).
pub(super) const COMPONENTS: usize = 3;
pub(super) type Blocks = [Block<i16>; COMPONENTS];

/// ZRL, zero run length: a run of sixteen AC coefficients that are zero.
const ZRL: u8 = 0xf0;
/// EOB, end of block: the remaining AC coefficients are zero.
const EOB: u8 = 0;

/// The Huffman tables for DC and AC coefficients, for luma and then for chroma.
pub(super) type Tables<T> = [[T; 2]; 2];
const DC: usize = 0;
const AC: usize = 1;

fn tables_of<T>(tables: &Tables<T>, component: usize) -> &[T; 2] {
    &tables[component.min(1)]
}

/// Returns a value's category (SSSS), which is the number of its additional bits, and these bits as
/// the lowest bits of a number (T.81, F.1.2.1).
fn additional_bits(value: i32) -> (u8, u32) {
    let category = (u32::BITS - value.unsigned_abs().leading_zeros()) as u8;
    let bits = if value < 0 { value - 1 } else { value };
    (category, bits.cast_unsigned())
}

/// Calls `put` for every symbol with its component, its table ([`DC`] or [`AC`]), the symbol
/// itself, and the number and value of its additional bits.
fn symbols(blocks: &[Blocks], mut put: impl FnMut(usize, usize, u8, (u8, u32))) {
    let mut predictions = [0; COMPONENTS];
    for block in blocks.iter() {
        for (component, coefficients) in block.iter().enumerate() {
            let dc = i32::from(coefficients[0]);
            let (category, bits) = additional_bits(dc - predictions[component]);
            predictions[component] = dc;
            put(component, DC, category, (category, bits));
            let mut zeros = 0;
            for at in &ZIGZAG[1..] {
                let coefficient = i32::from(coefficients[*at]);
                if coefficient == 0 {
                    zeros += 1;
                    continue;
                }
                while zeros > 15 {
                    put(component, AC, ZRL, (0, 0));
                    zeros -= 16;
                }
                let (category, bits) = additional_bits(coefficient);
                put(component, AC, zeros << 4 | category, (category, bits));
                zeros = 0;
            }
            if zeros > 0 {
                put(component, AC, EOB, (0, 0));
            }
        }
    }
}

pub(super) fn write(blocks: &[Blocks]) -> (Tables<Table>, Vec<u8>) {
    let mut counts = Tables::<Counts>::default();
    symbols(blocks, |component, class, symbol, _| counts[component.min(1)][class].add(symbol));
    let tables = counts.map(|of_component| of_component.map(|counts| counts.table()));
    let codes = [0, 1].map(|i| [DC, AC].map(|class| Codes::of(&tables[i][class])));
    let mut writer = BitWriter::default();
    symbols(blocks, |component, class, symbol, (length, bits)| {
        writer.symbol(&tables_of(&codes, component)[class], symbol);
        writer.write(bits, u32::from(length));
    });
    (tables, writer.finish())
}
