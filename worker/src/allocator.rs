//! Configures the C library's allocator.
//!
//! A worker opens and closes thousands of connections, each with buffers of a few kilobytes. By
//! default, each thread's heap would grow and shrink by one page at a time, with a system call each
//! time.
#![allow(unsafe_code)]

/// Number of bytes by which each heap grows. This has space for a few thousand connections'
/// buffers. A heap keeps up to four times as many free bytes.
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
