//! Memory that is kept for the moment when the server has none left.
//!
//! pgrx copies each error of PostgreSQL to the memory context of the code that has called PostgreSQL. If memory is
//! out, the copy fails with the same error, which pgrx copies again, until PostgreSQL ends all sessions ("PANIC:
//! ERRORDATA_STACK_SIZE exceeded"). And if Rust gets no memory for a small value, it ends the process, and so all
//! sessions too. So a reserve is freed before pgrx copies an error that memory is out, or for a small value.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};

use pgrx::pg_sys::{ErrorContextCallback, error_context_stack, geterrcode};
use pgrx::prelude::*;

use super::error::out_of_memory;
use super::memory::OnDrop;

/// The reserve. PostgreSQL asks for blocks of up to 8 MB, and halves that down to 1 MB: so one block takes at most two
/// thirds of the reserve. The operating system counts it as allocated, but gives it no memory, since nobody writes
/// to it.
const RESERVE: Layout = Layout::new::<[u8; 3 << 20]>();
/// The largest value of Rust that may take the reserve. Vectors that may be larger are allocated with errors.
const MAX_SMALL_BYTES: usize = 1 << 16;

/// The reserve, or null if it is not there.
static HELD: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// Whether a value of Rust has taken the reserve.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

#[global_allocator]
static ALLOCATOR: ReserveAllocator = ReserveAllocator;

/// Calls `run`, and frees the reserve if PostgreSQL raises an error meanwhile because memory is out. Raises that error
/// if there is no memory for the reserve.
pub fn with_reserve<T>(run: impl FnOnce() -> T) -> T {
    let mut callback = ReserveCallback::prepare();
    if HELD.load(Relaxed).is_null() {
        out_of_memory();
    }
    // SAFETY: the callback is popped before it is gone, also while a panic unwinds.
    unsafe { callback.push() };
    let _pop = OnDrop(|| unsafe { callback.pop() });
    run()
}

/// As [`with_reserve`], for code through which PostgreSQL's errors pass: nothing here needs to be dropped. Goes on if
/// there is no memory for the reserve.
pub(crate) fn with_reserve_across_errors<T: Copy>(run: impl FnOnce() -> T + Copy) -> T {
    let mut callback = ReserveCallback::prepare();
    // SAFETY: the callback is popped before it is gone, unless an error passes through.
    unsafe {
        callback.push();
        let result = run();
        callback.pop();
        result
    }
}

/// Whether a value of Rust has taken the reserve, and there is no memory for another one: so the statement should end
/// with an error. Allocates the reserve if there is.
pub(crate) fn is_memory_out() -> bool {
    if IS_TAKEN.load(Relaxed) {
        refill();
    }
    IS_TAKEN.load(Relaxed)
}

/// Allocates the reserve, unless it is there or there is no memory.
fn refill() {
    if HELD.load(Relaxed).is_null() {
        // SAFETY: the layout has a size.
        let held = unsafe { System.alloc(RESERVE) };
        HELD.store(held, Relaxed);
        IS_TAKEN.fetch_and(held.is_null(), Relaxed);
    }
}

/// While it is on PostgreSQL's stack of callbacks, it frees the reserve if PostgreSQL raises an error because memory is
/// out.
struct ReserveCallback(ErrorContextCallback);

impl ReserveCallback {
    /// Allocates the reserve, if there is memory.
    fn prepare() -> Self {
        refill();
        Self(ErrorContextCallback { previous: null_mut(), callback: Some(free_if_out_of_memory), arg: null_mut() })
    }

    /// # Safety
    /// The callback stays where it is until [`Self::pop`] is called, or an error of PostgreSQL passes through: whoever
    /// catches that resets PostgreSQL's stack, pgrx after it has copied the error.
    unsafe fn push(&mut self) {
        // SAFETY: the caller keeps the callback.
        unsafe {
            self.0.previous = error_context_stack;
            error_context_stack = &raw mut self.0;
        }
    }

    /// # Safety
    /// The callback is the last one that was pushed.
    unsafe fn pop(&mut self) {
        // SAFETY: the callback was pushed after the previous one.
        unsafe { error_context_stack = self.0.previous };
    }
}

/// Frees the reserve. Returns whether it was there.
fn free_reserve() -> bool {
    let held = HELD.swap(null_mut(), Relaxed);
    if !held.is_null() {
        // SAFETY: it was allocated with this layout.
        unsafe { System.dealloc(held, RESERVE) };
    }
    !held.is_null()
}

/// PostgreSQL calls this for each error or message, before it is sent or caught.
#[pg_guard]
unsafe extern "C-unwind" fn free_if_out_of_memory(_argument: *mut c_void) {
    // SAFETY: an error is being reported.
    if unsafe { geterrcode() } == PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as i32 {
        free_reserve();
    }
}

/// The system's allocator, which takes the reserve for small values if memory is out.
struct ReserveAllocator;

/// Calls `allocate`, and once more without the reserve if it returns null for a small value.
fn with_reserve_freed(layout: Layout, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let memory = allocate();
    if memory.is_null() && layout.size() <= MAX_SMALL_BYTES && free_reserve() {
        IS_TAKEN.store(true, Relaxed);
        return allocate();
    }
    memory
}

// SAFETY: all memory is that of the system's allocator, for the same layouts.
unsafe impl GlobalAlloc for ReserveAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        with_reserve_freed(layout, || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        with_reserve_freed(layout, || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let new_layout = Layout::from_size_align(new_size, layout.align()).unwrap_or(layout);
        with_reserve_freed(new_layout, || unsafe { System.realloc(memory, layout, new_size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) };
    }
}
