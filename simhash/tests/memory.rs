//! The memory that matches need beside both texts: less than 64 MB for texts of 10,000,000 bytes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use simhash::fingerprint::options::Options;
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::random::Random;
use simhash::within::matches::{MAX_CHANGED, Unit, matches};

/// Counts the bytes that are allocated, and the largest count so far.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are passed to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(ALLOCATED.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    /// A large allocation grows in place: the system gives its pages another address.
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let others = ALLOCATED.fetch_sub(layout.size(), Relaxed) - layout.size();
        PEAK.fetch_max(others + size, Relaxed);
        ALLOCATED.fetch_add(size, Relaxed);
        unsafe { System.realloc(memory, layout, size) }
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
    // Of a shorter text, the fingerprinter retains the normal form.
    const LENGTH: usize = 1_100_000;
    let words: Vec<String> = (0..500).map(|word: usize| format!("{word:x}")).collect();
    let letters: Vec<String> = ('a'..='z').map(String::from).collect();
    let laws: Vec<String> = ('\u{4e00}'..'\u{4f00}').map(String::from).collect();
    // Four of five bytes are letters, and of these there are too many to be numbers of one byte.
    let mixed = [vec![letters[..4].concat(); 2000], vec![letters[4..8].concat(); 2000], laws.clone()].concat();
    for (words, separator, tokens) in [
        (&words[..], " ", "words"),
        (&letters[..], " ", "words"),
        (&letters[..2], " ", "words"),
        (&laws[..64], "", "words"),
        (&words, " ", "chars"),
        (&letters, "", "chars"),
        (&letters[..2], "", "chars"),
        (&letters[..4], "", "chars"),
        (&mixed, " ", "chars"),
    ] {
        let mut random = Random(0);
        let [content, clue] = [(); 2].map(|()| {
            let mut text = String::with_capacity(LENGTH + 30);
            while text.len() < LENGTH {
                text += &words[random.next() as usize % words.len()];
                text += separator;
            }
            text
        });
        let before = ALLOCATED.load(Relaxed);
        PEAK.store(before, Relaxed);
        let options = Options::from_json(&format!(r#"{{"tokens": "{tokens}"}}"#)).expect("options");
        let mut scratch = Scratch::default();
        let fingerprinter = &mut Fingerprinter::new(&mut scratch, &options, &|| ());
        let found = matches(fingerprinter, &content, &clue, MAX_CHANGED, Unit::Bytes).expect("memory suffices");
        let most = PEAK.load(Relaxed) - before;
        println!("{tokens} {separator:?}, {} matches, {most} bytes", found.len());
        assert!(
            !found.is_empty() && most <= LENGTH * 64 / 10 + 400_000,
            "{most} bytes of memory for texts of {LENGTH}"
        );
    }
}
