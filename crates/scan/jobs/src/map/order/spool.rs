//! The tabs of an order on disk, which are read once per row of tiles.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Error, Read as _, Seek as _, Write as _},
    path::Path,
};

use everytab_bundler::map_order::ICON_BYTES;

/// Bytes of a record: a tab's number, its part of an area and its icon. 30 million tabs need 720 MB
/// of disk.
const RECORD_BYTES: usize = 8 + 4 + ICON_BYTES;
/// Size of the buffers, which make disk access mostly sequential.
const BUFFER_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderedTab {
    pub(super) number: u64,
    pub(super) part: u32,
    pub(super) icon: [u8; ICON_BYTES],
}

pub(super) struct Spool {
    file: BufWriter<File>,
}

impl Spool {
    pub(super) fn create(temporary: &Path) -> Result<Self, Error> {
        let file = tempfile::tempfile_in(temporary)?;
        Ok(Self { file: BufWriter::with_capacity(BUFFER_BYTES, file) })
    }

    pub(super) fn add(&mut self, tab: &OrderedTab) -> Result<(), Error> {
        self.file.write_all(&tab.number.to_le_bytes())?;
        self.file.write_all(&tab.part.to_le_bytes())?;
        self.file.write_all(&tab.icon)
    }

    pub(super) fn read(&mut self, mut each: impl FnMut(OrderedTab)) -> Result<(), Error> {
        self.file.flush()?;
        let file = self.file.get_mut();
        file.rewind()?;
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut record = [0; RECORD_BYTES];
        while !std::io::BufRead::fill_buf(&mut reader)?.is_empty() {
            reader.read_exact(&mut record)?;
            let little_endian = |bytes: &[u8]| {
                bytes.iter().rev().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte))
            };
            let mut icon = [0; ICON_BYTES];
            icon.copy_from_slice(&record[12..]);
            let part = little_endian(&record[8..12]) as u32;
            let tab = OrderedTab { number: little_endian(&record[..8]), part, icon };
            each(tab);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_are_read_again_and_again_as_they_were_added() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path()).unwrap();
        let tab = |n: u64| OrderedTab { number: n << 33, part: n as u32, icon: [n as u8; 12] };
        let tabs: Vec<OrderedTab> = (0..60_000).map(tab).collect();
        tabs.iter().for_each(|tab| spool.add(tab).unwrap());
        for _ in 0..2 {
            let mut read = Vec::new();
            spool.read(|tab| read.push(tab)).unwrap();
            assert!(read == tabs);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
