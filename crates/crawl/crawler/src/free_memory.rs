//! Returns freed memory to the system.
//!
//! Dropped host state leaves free memory between small allocations, and glibc by itself returns
//! only the free memory at the end of a heap. A worker with 4 million known URLs used 679 MB, and
//! 467 MB after one call of this function.
#![allow(unsafe_code)]

/// Returns every free page to the system. This takes tens of milliseconds in a large process.
pub(crate) fn trim() {
    // SAFETY: `malloc_trim` may be called at any time and by any thread.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_pages() -> usize {
        let sizes = std::fs::read_to_string("/proc/self/statm").unwrap();
        sizes.split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn memory_freed_between_live_allocations_is_returned() {
        let pieces: Vec<Vec<u8>> = (0..8_000).map(|n| vec![n as u8; 10_000]).collect();
        // Each piece is larger than two pages, so a freed piece leaves a free page.
        let (mut kept, mut is_kept) = (pieces, false);
        kept.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        let before = resident_pages();
        trim();
        let after = resident_pages();
        assert!(after + 3_000 < before, "{before} pages, then {after}");
        assert_eq!(kept.len(), 4_000);
    }
}
