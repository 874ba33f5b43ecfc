//! How the C library's allocator keeps memory.
//!
//! Thousands of connections come and go, each with buffers of some kilobytes: without this the
//! heap of each thread is grown and given back a page at a time, by a system call each.
#![allow(unsafe_code)]

/// Bytes by which each heap grows at a time; it keeps four times as many when they are free.
/// Buffers of a few thousand connections fit into it.
const STEP_BYTES: libc::c_int = 4 << 20;

/// Sets the allocator up. Must be called once, before the first thread is started.
pub fn settle() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers and changes how later allocations are made, no more.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, STEP_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 4 * STEP_BYTES);
    }
}
