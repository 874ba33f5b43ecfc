//! An allocator that counts, a thread at a time: how many bytes are in use at most while a closure
//! runs, and how many were asked for in all.
//!
//! Owns the only unsafe code of this crate's tests: it hands everything to the system's allocator
//! unchanged, which is all that `GlobalAlloc` asks.
#![allow(unsafe_code, reason = "a global allocator is an unsafe trait; see above")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

/// What a closure took, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// In use at once, at most, beyond what was in use before.
    pub(crate) peak: usize,
    /// Asked for in all.
    pub(crate) total: usize,
}

#[derive(Clone, Copy)]
struct Counters {
    live: isize,
    peak: isize,
    total: usize,
}

thread_local! {
    static COUNTERS: Cell<Counters> =
        const { Cell::new(Counters { live: 0, peak: 0, total: 0 }) };
}

struct Counting;

fn count(change: isize) {
    // A thread that ends has no counters left, and nobody asks for them.
    let _ = COUNTERS.try_with(|cell| {
        let mut counters = cell.get();
        counters.live += change;
        counters.peak = counters.peak.max(counters.live);
        counters.total += usize::try_from(change).unwrap_or(0);
        cell.set(counters);
    });
}

// SAFETY: every call goes to `System` with what it was called with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs the closure and says what it took; what it returns counts as in use.
pub(crate) fn taken<T>(run: impl FnOnce() -> T) -> (T, Taken) {
    let before = COUNTERS.with(|cell| {
        let mut counters = cell.get();
        counters.peak = counters.live;
        cell.set(counters);
        counters
    });
    let value = run();
    let after = COUNTERS.with(Cell::get);
    let peak = usize::try_from(after.peak - before.live).unwrap_or(0);
    (value, Taken { peak, total: after.total - before.total })
}
