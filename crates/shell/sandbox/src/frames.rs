//! The pipe protocol: the child process sends a greeting, then reads batches of items and writes
//! their replies.
//!
//! The child reads a whole batch before it replies, so that parent and child never block on writing
//! to each other. Integers are 32 bits, little-endian.

use std::io::{self, ErrorKind, Read, Write};

use crate::confine::Confinement;

/// Maximum bytes in an item.
pub(crate) const MAX_ITEM_BYTES: usize = 16 << 20;
/// Maximum bytes of a batch with several items. A process holds a whole batch in memory.
pub(crate) const MAX_BATCH_BYTES: usize = 8 << 20;
/// Maximum bytes in a reply.
pub(crate) const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Maximum items in a batch.
pub(crate) const MAX_BATCH_ITEMS: usize = 1 << 12;

pub(crate) type Greeting = Result<Confinement, String>;

fn write_number(to: &mut impl Write, number: usize) -> io::Result<()> {
    let number = u32::try_from(number).map_err(|_| ErrorKind::InvalidInput)?;
    to.write_all(&number.to_le_bytes())
}

fn read_number(from: &mut impl Read, most: usize) -> io::Result<usize> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    let number = u32::from_le_bytes(bytes) as usize;
    if number > most { Err(ErrorKind::InvalidData.into()) } else { Ok(number) }
}

pub(crate) fn write_bytes(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    write_number(to, bytes.len())?;
    to.write_all(bytes)
}

pub(crate) fn read_bytes(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; read_number(from, most)?];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn write_greeting(to: &mut impl Write, greeting: &Greeting) -> io::Result<()> {
    match greeting {
        Ok(confinement) => to.write_all(&[confinement.byte()])?,
        Err(reason) => {
            to.write_all(&[0])?;
            write_bytes(to, reason.as_bytes())?;
        }
    }
    to.flush()
}

pub(crate) fn read_greeting(from: &mut impl Read) -> io::Result<Greeting> {
    let mut first = [0];
    from.read_exact(&mut first)?;
    if let Some(confinement) = Confinement::of_byte(first[0]) {
        return Ok(Ok(confinement));
    }
    let reason = read_bytes(from, MAX_ANSWER_BYTES)?;
    Ok(Err(String::from_utf8_lossy(&reason).into_owned()))
}

pub(crate) fn write_batch(to: &mut impl Write, items: &[&[u8]]) -> io::Result<()> {
    write_number(to, items.len())?;
    items.iter().try_for_each(|item| write_bytes(to, item))?;
    to.flush()
}

pub(crate) fn read_batch(from: &mut impl Read) -> io::Result<Option<Vec<Vec<u8>>>> {
    let number = match read_number(from, MAX_BATCH_ITEMS) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        number => number?,
    };
    (0..number).map(|_| read_bytes(from, MAX_ITEM_BYTES)).collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_and_greetings_round_trip() {
        let mut wire = Vec::new();
        write_batch(&mut wire, &[b"one", b"", b"three"]).unwrap();
        write_batch(&mut wire, &[]).unwrap();
        let mut rest = &wire[..];
        let first = read_batch(&mut rest).unwrap().unwrap();
        assert_eq!(first, [&b"one"[..], b"", b"three"]);
        assert_eq!(read_batch(&mut rest).unwrap(), Some(Vec::new()));
        assert_eq!(read_batch(&mut rest).unwrap(), None);
        for greeting in [
            Ok(Confinement::SeccompAndLandlock),
            Ok(Confinement::SeccompAlone),
            Err("no seccomp".to_owned()),
        ] {
            let mut wire = Vec::new();
            write_greeting(&mut wire, &greeting).unwrap();
            assert_eq!(read_greeting(&mut &wire[..]).unwrap(), greeting);
        }
    }

    #[test]
    fn a_length_above_the_limit_is_rejected_before_allocating() {
        let mut wire = (MAX_ANSWER_BYTES as u32 + 1).to_le_bytes().to_vec();
        wire.extend(b"few");
        let error = read_bytes(&mut &wire[..], MAX_ANSWER_BYTES).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
