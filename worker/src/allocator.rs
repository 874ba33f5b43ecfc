//! Configures the C library's allocator.
//!
//! A worker opens and closes thousands of connections with buffers of a few kilobytes each. With
//! the default settings, a thread's heap would often grow and shrink by single pages, with a system
//! call each time.
#![allow(unsafe_code)]

/// Bytes by which each growth of a heap exceeds the request (`M_TOP_PAD`), enough for the buffers
/// of a few thousand connections.
const STEP_BYTES: libc::c_int = 4 << 20;

/// Configures the allocator. Must be called before the first thread starts.
pub fn settle() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers and only changes how later allocations are made.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, STEP_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 4 * STEP_BYTES);
    }
}
