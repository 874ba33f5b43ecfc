//! Packs the counts for URL shapes: the floor, a mask with the changed slots, and the content of
//! these slots.

use super::{
    bytes::{ChunkReader, push_number},
    frame::ChunkError,
};
use crate::shape_counts::{LastPage, ShapeChange, ShapeChanges};

pub(crate) fn push_shapes(out: &mut Vec<u8>, changes: &ShapeChanges) {
    push_number(out, changes.floor.into());
    push_number(out, changes.slots.iter().fold(0, |mask, slot| mask | 1 << slot.index));
    for ShapeChange { hash, raised, debt, last, .. } in &changes.slots {
        push_number(out, u64::from(*raised) << 1 | u64::from(hash.is_some()));
        out.extend(hash.iter().flat_map(|hash| hash.to_be_bytes()));
        let last = match last {
            LastPage::Unread => 0,
            LastPage::Repeated => 1,
            LastPage::New => 2,
        };
        push_number(out, u64::from(*debt) << 2 | last);
    }
}

/// In format version 1, changes have no debts.
pub(crate) fn read_shapes(
    reader: &mut ChunkReader<'_>,
    has_debts: bool,
) -> Result<ShapeChanges, ChunkError> {
    let floor = reader.small("shapes")?;
    let mask = reader.number("shapes")?;
    let mut slots = Vec::new();
    for index in (0..64).filter(|index| mask & 1 << index != 0) {
        let number = reader.number("shapes")?;
        let raised = small(number >> 1)?;
        let has_hash = number & 1 == 1;
        let hash = if has_hash {
            let bytes = reader.take(4, "shapes")?;
            Some(bytes.iter().fold(0, |hash, byte| hash << 8 | u32::from(*byte)))
        } else {
            None
        };
        let number = if has_debts { reader.number("shapes")? } else { 0 };
        let last = match number & 3 {
            0 => LastPage::Unread,
            1 => LastPage::Repeated,
            2 => LastPage::New,
            _ => return Err(ChunkError::Field("shapes")),
        };
        slots.push(ShapeChange { index, hash, raised, debt: small(number >> 2)?, last });
    }
    Ok(ShapeChanges { floor, slots })
}

fn small(number: u64) -> Result<u32, ChunkError> {
    u32::try_from(number).map_err(|_| ChunkError::Field("shapes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_round_trip() {
        let slot =
            |index, hash, raised, debt, last| ShapeChange { index, hash, raised, debt, last };
        let slots = vec![
            slot(0, Some(7), u32::MAX, 0, LastPage::New),
            slot(5, None, 0, u32::MAX, LastPage::Repeated),
            slot(63, Some(u32::MAX), 12, 33, LastPage::Unread),
        ];
        let changes = ShapeChanges { floor: 9, slots };
        let mut bytes = Vec::new();
        push_shapes(&mut bytes, &changes);
        let mut reader = ChunkReader::new(&bytes);
        assert_eq!(read_shapes(&mut reader, true), Ok(changes));
        assert_eq!(reader.remaining(), 0);
        assert!(read_shapes(&mut ChunkReader::new(&bytes[..bytes.len() - 1]), true).is_err());
        let before = read_shapes(&mut ChunkReader::new(&[9, 1, 25, 0, 0, 0, 7]), false);
        assert_eq!(before.unwrap().slots, [slot(0, Some(7), 12, 0, LastPage::Unread)]);
    }
}
