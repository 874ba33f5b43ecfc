//! An allocator that counts, per thread, the peak memory and the total allocations of a closure.
#![allow(unsafe_code, reason = "a global allocator is an unsafe trait; see above")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Peak memory, without what was in use before.
    pub(crate) peak: usize,
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
    // While a thread ends, its counters may already be destroyed, but nothing reads them then.
    let _ = COUNTERS.try_with(|cell| {
        let mut counters = cell.get();
        counters.live += change;
        counters.peak = counters.peak.max(counters.live);
        counters.total += usize::try_from(change).unwrap_or(0);
        cell.set(counters);
    });
}

// SAFETY: every call passes its arguments to `System` unchanged.
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

/// Runs the closure and returns its memory use, which includes its result.
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
