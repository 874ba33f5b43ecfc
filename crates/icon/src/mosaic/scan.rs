//! The scan of a JPEG file: the quantized coefficients of all blocks as bits.

use super::{
    huffman::{BitReader, BitWriter, Codes, Counts, Table},
    transform::Block,
};

/// Y (luma), Cb and Cr (chroma).
pub(super) const COMPONENTS: usize = 3;
/// The quantized coefficients of a block for each component.
pub(super) type Blocks = [Block<i16>; COMPONENTS];

/// The zigzag order of the coefficients in a scan: by rising frequency.
#[rustfmt::skip]
pub(crate) const ZIGZAG: [usize; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// ZRL, zero run length: a run of sixteen AC coefficients that are zero.
const ZRL: u8 = 0xf0;
/// EOB, end of block: the remaining AC coefficients are zero.
const EOB: u8 = 0;
/// Maximum additional bits of a coefficient in a baseline file.
const MAX_ADDITIONAL_BITS: u8 = 11;

/// The Huffman tables of the DC and AC coefficients, for luma and then for chroma.
pub(super) type Tables<T> = [[T; 2]; 2];
/// The indices of a component's two tables.
const DC: usize = 0;
const AC: usize = 1;

/// Returns the Huffman tables of a component.
fn tables_of<T>(tables: &Tables<T>, component: usize) -> &[T; 2] {
    &tables[component.min(1)]
}

/// Returns the category of a value (SSSS), which is the number of its additional bits, and these
/// bits, the lowest of the number: T.81, F.1.2.1.
fn additional_bits(value: i32) -> (u8, u32) {
    // At most 16.
    let category = (u32::BITS - value.unsigned_abs().leading_zeros()) as u8;
    let bits = if value < 0 { value - 1 } else { value };
    (category, bits.cast_unsigned())
}

/// Calls `put` for every symbol with the component, the table ([`DC`] or [`AC`]), the symbol, and
/// the number and value of its additional bits.
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

/// Returns the Huffman tables that make the scan of the blocks shortest, and the scan.
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

/// Reads `count` blocks. `None` if the bits are not a valid scan.
pub(super) fn read(bytes: &[u8], tables: &Tables<Table>, count: usize) -> Option<Vec<Blocks>> {
    let mut reader = BitReader::new(bytes);
    let mut predictions = [0i32; COMPONENTS];
    let mut blocks = Vec::new();
    for _ in 0..count {
        let mut block = [[0i16; 64]; COMPONENTS];
        for (component, coefficients) in block.iter_mut().enumerate() {
            let [dc, ac] = tables_of(tables, component);
            let category = reader.symbol(dc)?;
            let difference = extended(&mut reader, category)?;
            predictions[component] = predictions[component].checked_add(difference)?;
            coefficients[0] = i16::try_from(predictions[component]).ok()?;
            let mut at = 1;
            while at < 64 {
                let symbol = reader.symbol(ac)?;
                match symbol {
                    EOB => break,
                    ZRL => at += 16,
                    _ => {
                        at += usize::from(symbol >> 4);
                        let value = extended(&mut reader, symbol & 15)?;
                        coefficients[*ZIGZAG.get(at)?] = i16::try_from(value).ok()?;
                        at += 1;
                    }
                }
            }
        }
        blocks.push(block);
    }
    Some(blocks)
}

/// Reads the additional bits of a category and returns their value (EXTEND of T.81, F.2.2.1).
/// `None` if a baseline file has no such category, or the scan ends.
fn extended(reader: &mut BitReader<'_>, category: u8) -> Option<i32> {
    if category > MAX_ADDITIONAL_BITS {
        return None;
    }
    let bits = reader.read(category)?.cast_signed();
    let is_negative = category > 0 && bits < 1 << (category - 1);
    Some(if is_negative { bits - (1 << category) + 1 } else { bits })
}
