//! Maps the file of a list into memory.
#![allow(unsafe_code)]

use std::{fs::File, io, sync::Arc};

use everytab_filters::ListBytes;
use memmap2::Mmap;

/// Maps a file that has no name, so that no other process can open it, and that this one does not
/// write any more. Its pages come in as they are looked at, and leave where memory is short.
///
/// # Errors
/// When the system does not map it.
pub(crate) fn map(file: &File) -> io::Result<ListBytes> {
    // SAFETY: a mapping is unsound where its bytes change or the file is cut. Only the caller has
    // this file, by a descriptor that it drops.
    let mapped = unsafe { Mmap::map(file)? };
    Ok(Arc::new(mapped))
}
