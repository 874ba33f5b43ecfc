//! Maps the file of a list into memory.
#![allow(unsafe_code)]

use std::{fs::File, io, sync::Arc};

use everytab_filters::ListBytes;
use memmap2::Mmap;

/// Maps an unnamed file. The kernel loads its pages on access, and evicts them when memory is
/// short.
///
/// # Errors
/// Returns an error if the system cannot map the file.
pub(crate) fn map(file: &File) -> io::Result<ListBytes> {
    // SAFETY: a mapping is unsound if its bytes change or the file is truncated. This cannot
    // happen, because only the caller can access the file, by a descriptor that it drops.
    let mapped = unsafe { Mmap::map(file)? };
    Ok(Arc::new(mapped))
}
