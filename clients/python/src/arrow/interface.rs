//! The structures of Arrow's C data interface and C stream interface, as its specification lays them out, and owners
//! that release them.
//!
//! The bytes behind the pointers cannot be checked here: the producer guarantees that the buffers of an array are as
//! long as its length requires. Numbers of buffers, null pointers and negative lengths are checked.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

#[repr(C)]
pub struct ArrowSchema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    pub private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArrayStream {
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    pub private_data: *mut c_void,
}

/// A structure with a release callback.
///
/// # Safety
///
/// `release_callback` returns None if the structure is released; otherwise, the callback that its producer has set.
pub unsafe trait Release {
    /// The structure as it is before a producer fills it, and after it is released.
    fn released() -> Self;

    /// The callback that releases the structure; None if the structure is released.
    fn release_callback(&self) -> Option<unsafe extern "C" fn(*mut Self)>;

    fn is_released(&self) -> bool;
}

macro_rules! release {
    ($structure:ident, $($field:ident: $value:expr),*) => {
        // SAFETY: the specification: a structure without a release callback is released.
        unsafe impl Release for $structure {
            fn released() -> Self {
                Self { release: None, private_data: ptr::null_mut(), $($field: $value),* }
            }

            fn release_callback(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
                self.release
            }

            fn is_released(&self) -> bool {
                self.release.is_none()
            }
        }
    };
}

release!(ArrowSchema, format: ptr::null(), name: ptr::null(), metadata: ptr::null(), flags: 0, n_children: 0,
    children: ptr::null_mut(), dictionary: ptr::null_mut());
release!(ArrowArray, length: 0, null_count: 0, offset: 0, n_buffers: 0, n_children: 0, buffers: ptr::null_mut(),
    children: ptr::null_mut(), dictionary: ptr::null_mut());
release!(ArrowArrayStream, get_schema: None, get_next: None, get_last_error: None);

/// Owns a structure, and releases it.
#[repr(transparent)]
pub struct Owned<T: Release>(pub T);

impl<T: Release> Owned<T> {
    /// A structure for a producer to fill.
    pub fn empty() -> Self {
        Self(T::released())
    }

    /// Moves a structure out of the memory of its producer, as a consumer does: what it leaves is released.
    pub fn take(from: &mut T) -> Self {
        Self(std::mem::replace(from, T::released()))
    }

    /// Whether nothing is there to read.
    pub fn is_released(&self) -> bool {
        self.0.is_released()
    }
}

impl<T: Release> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = self.0.release_callback() {
            // SAFETY: the structure is not released, and this owns it.
            unsafe { release(&mut self.0) };
        }
    }
}

// SAFETY: the specification lets a consumer release a structure on any thread, and the data does not change.
unsafe impl<T: Release> Send for Owned<T> {}
// SAFETY: as above: a shared reference only reads.
unsafe impl<T: Release> Sync for Owned<T> {}

impl ArrowSchema {
    /// The format, which says the type; empty if there is none.
    pub fn format(&self) -> &str {
        if self.format.is_null() {
            return "";
        }
        // SAFETY: the format of a schema is a string that lives as long as the schema.
        unsafe { CStr::from_ptr(self.format) }.to_str().unwrap_or("")
    }
}

/// The type of a column.
pub struct Type {
    pub format: String,
    /// Whether the elements are numbers of entries in a dictionary.
    pub is_dictionary: bool,
}

impl Type {
    pub fn new(schema: &ArrowSchema) -> Self {
        Self { format: schema.format().to_owned(), is_dictionary: !schema.dictionary.is_null() }
    }
}

/// A chunk of a column.
pub struct Chunk(pub Owned<ArrowArray>);

impl Chunk {
    /// Number of rows; 0 for a length that cannot be.
    pub fn len(&self) -> usize {
        usize::try_from(self.0.0.length).unwrap_or(0)
    }

    /// The rows before the first one, in all buffers.
    pub fn offset(&self) -> usize {
        usize::try_from(self.0.0.offset).unwrap_or(0)
    }

    /// Number of buffers.
    pub fn buffers(&self) -> usize {
        usize::try_from(self.0.0.n_buffers).unwrap_or(0)
    }

    /// The elements of a buffer, as the bytes of each: Arrow recommends that buffers are aligned, but does not require
    /// it. Empty if there is no such buffer or its pointer is null.
    ///
    /// # Safety
    ///
    /// The type of the array has `length` elements of `SIZE` bytes in this buffer.
    pub unsafe fn elements<const SIZE: usize>(&self, number: usize, length: usize) -> &[[u8; SIZE]] {
        if number >= self.buffers() || self.0.0.buffers.is_null() || length == 0 {
            return &[];
        }
        // SAFETY: an array has as many pointers as `n_buffers` says, and the caller knows what is behind this one.
        unsafe {
            let buffer: *const [u8; SIZE] = (*self.0.0.buffers.add(number)).cast();
            if buffer.is_null() { &[] } else { std::slice::from_raw_parts(buffer, length) }
        }
    }

    /// The bytes of a buffer; empty if there is no such buffer or its pointer is null.
    ///
    /// # Safety
    ///
    /// The array has `length` bytes in this buffer.
    pub unsafe fn bytes(&self, number: usize, length: usize) -> &[u8] {
        // SAFETY: as above.
        unsafe { self.elements::<1>(number, length) }.as_flattened()
    }

    /// Whether a row, counted from the offset, is not null.
    pub fn is_valid(&self, row: usize) -> bool {
        let end = self.offset() + self.len();
        // SAFETY: the first buffer of the types that are read here is a bitmap of so many bits, or null if no row is
        // null.
        let bits = unsafe { self.bytes(0, end.div_ceil(8)) };
        let bit = self.offset() + row;
        bits.get(bit / 8).is_none_or(|byte| byte >> (bit % 8) & 1 == 1)
    }
}
