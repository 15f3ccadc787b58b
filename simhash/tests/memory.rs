//! The memory that matches need beside both texts: of texts of 10 MB at most 66 MB, unless they have only two or three
//! different words (74 MB), or characters are compared (105 MB).

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use simhash::fingerprint::matches::{MAX_CHANGED, Unit, matches};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::random::Random;

/// Counts the bytes that are allocated, and the most that were.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are passed to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(ALLOCATED.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn matches_need_a_bounded_memory() {
    const LENGTH: usize = 500_000;
    let words: Vec<String> = (0..20_000).map(|word: usize| format!("{word:x}")).collect();
    let letters: Vec<String> = ('a'..='z').map(String::from).collect();
    let laws: Vec<String> = ('\u{4e00}'..'\u{4f00}').map(String::from).collect();
    for (words, separator) in [(words, " "), (letters, " "), (laws, "")] {
        let mut random = Random(0);
        let [content, clue] = [(); 2].map(|()| {
            let mut text = String::with_capacity(LENGTH + 10);
            while text.len() < LENGTH {
                text += &words[random.next() as usize % words.len()];
                text += separator;
            }
            text
        });
        let before = ALLOCATED.load(Relaxed);
        MOST.store(before, Relaxed);
        let (mut scratch, options) = (Scratch::default(), Options::default());
        let of = &mut Fingerprinter::new(&mut scratch, &options, &|| ());
        let found = matches(of, &content, &clue, MAX_CHANGED, Unit::Bytes).expect("memory suffices");
        let most = MOST.load(Relaxed) - before;
        println!("{} matches, {} bytes a byte of each text", found.len(), most as f64 / LENGTH as f64);
        assert!(most as f64 <= 6.6 * LENGTH as f64 + 1e6, "{most} bytes of memory for texts of {LENGTH}");
    }
}
