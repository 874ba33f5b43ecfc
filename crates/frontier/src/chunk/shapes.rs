//! The counts of URL shapes in a chunk: the floor, a mask of the slots that follow, and of each its
//! count and, where the shape is another than before, its hash.

use super::{
    bytes::{ChunkReader, push_number},
    frame::ChunkError,
};
use crate::shape_counts::ShapeChanges;

/// Appends changes, whose slots ascend.
pub(crate) fn push_shapes(out: &mut Vec<u8>, changes: &ShapeChanges) {
    push_number(out, changes.floor.into());
    push_number(out, changes.slots.iter().fold(0, |mask, (index, ..)| mask | 1 << index));
    for (_, hash, raised) in &changes.slots {
        push_number(out, u64::from(*raised) << 1 | u64::from(hash.is_some()));
        out.extend(hash.iter().flat_map(|hash| hash.to_be_bytes()));
    }
}

/// Takes changes.
pub(crate) fn read_shapes(reader: &mut ChunkReader<'_>) -> Result<ShapeChanges, ChunkError> {
    let floor = reader.small("shapes")?;
    let mask = reader.number("shapes")?;
    let mut slots = Vec::new();
    for index in (0..64).filter(|index| mask & 1 << index != 0) {
        let number = reader.number("shapes")?;
        let raised = u32::try_from(number >> 1).map_err(|_| ChunkError::Field("shapes"))?;
        let hash = if number & 1 == 1 {
            let bytes = reader.take(4, "shapes")?;
            Some(bytes.iter().fold(0, |hash, byte| hash << 8 | u32::from(*byte)))
        } else {
            None
        };
        slots.push((index, hash, raised));
    }
    Ok(ShapeChanges { floor, slots })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_back() {
        let slots = vec![(0, Some(7), u32::MAX), (5, None, 0), (63, Some(u32::MAX), 12)];
        let changes = ShapeChanges { floor: 9, slots };
        let mut bytes = Vec::new();
        push_shapes(&mut bytes, &changes);
        let mut reader = ChunkReader::new(&bytes);
        assert_eq!(read_shapes(&mut reader), Ok(changes));
        assert_eq!(reader.remaining(), 0);
        assert!(read_shapes(&mut ChunkReader::new(&bytes[..bytes.len() - 1])).is_err());
    }
}
