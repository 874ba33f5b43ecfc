//! Configures the C library's allocator.
//!
//! Thousands of connections come and go, each with buffers of a few kilobytes. By default, the heap
//! of each thread would grow and shrink by a page at a time, with a system call each time.
#![allow(unsafe_code)]

/// Bytes by which each heap grows at a time; it keeps up to four times as many free bytes. The
/// buffers of a few thousand connections fit into one step.
const STEP_BYTES: libc::c_int = 4 << 20;

/// Configures the allocator. Must be called once, before the first thread starts.
pub fn settle() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers and only changes how later allocations are made.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, STEP_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 4 * STEP_BYTES);
    }
}
