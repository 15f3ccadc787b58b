//! Memory may be refused at any moment: the result is an error, and the process does not end, as it does after a failed
//! allocation in Rust's own collections. The allocator of this test refuses what exceeds an allowance, and the
//! allowance grows until it is enough.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

use simhash::error::Error;
use simhash::fingerprint::difference::{containment, difference};
use simhash::fingerprint::options::Options;
use simhash::fingerprint::resemblance::resemblance;
use simhash::fingerprint::{Fingerprinter, Scratch};
use simhash::pairs::{Pairs, RowFingerprints, clusters};
use simhash::random::Random;
use simhash::search::layout_costs::{FingerprintSample, layout_costs};

/// Largest allocation that is never refused: an allocator usually has this much left in its last page.
const SMALL: usize = 1024;

thread_local! {
    static ALLOWANCE: Cell<isize> = const { Cell::new(isize::MAX) };
}

/// The allocator that refuses memory beyond the allowance of the thread.
struct Refusing;

impl Refusing {
    /// Whether `bytes` more bytes are allowed. If so, takes them off the allowance.
    fn allows(bytes: isize) -> bool {
        ALLOWANCE.with(|left| {
            let allowed = bytes <= SMALL as isize || bytes <= left.get();
            if allowed {
                left.set(left.get().saturating_sub(bytes));
            }
            allowed
        })
    }
}

// SAFETY: each method passes its arguments to the system's allocator unchanged, or returns null, which reports a
// refusal.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::allows(layout.size() as isize) { unsafe { System.alloc(layout) } } else { ptr::null_mut() }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        Self::allows(-(layout.size() as isize));
        unsafe { System.dealloc(memory, layout) }
    }

    /// Counts as if memory never grew in place.
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::allows(size as isize) {
            return ptr::null_mut();
        }
        Self::allows(-(layout.size() as isize));
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Calls `run` with more and more memory, from none to enough, and returns how often memory was refused.
fn refusals<T: PartialEq + std::fmt::Debug>(run: impl Fn() -> Result<T, Error>) -> u32 {
    let expected = run().expect("there is memory");
    let mut refused = 0;
    let mut allowance = 0;
    loop {
        ALLOWANCE.set(allowance);
        let result = run();
        ALLOWANCE.set(isize::MAX);
        match result {
            Err(Error::OutOfMemory) => refused += 1,
            result => {
                assert_eq!(result.expect("no other error"), expected);
                return refused;
            }
        }
        allowance += (allowance / 4).max(512);
    }
}

/// How often memory is refused to what reads texts by these options.
fn refusals_of<T: PartialEq + std::fmt::Debug>(
    options: &Options,
    read: impl Fn(&mut Fingerprinter) -> Result<T, Error>,
) -> u32 {
    refusals(|| read(&mut Fingerprinter::new(&mut Scratch::default(), options, &|| ())))
}

#[test]
fn texts_may_lack_memory() {
    for piece in "a |word |\u{301}|e\u{301} |\u{344}|ﷺ|ﷺ\u{316}\u{301}|İ |각|\u{1100}\u{1161}|中|Ⅷ".split('|')
    {
        for length in [40, 5_000, 40_000] {
            let text = piece.repeat(length / piece.len());
            let text = format!("{text} {}", (0..length / 10).map(|n| format!("{n} ")).collect::<String>());
            for options in [
                r#"{}"#,
                r#"{"case_fold": false, "ngram": 1}"#,
                r#"{"tokens": "chars", "weight": "log", "same": ["numbers"], "ignore": ["urls", "accents"]}"#,
                r#"{"ngram": 2, "weights": {"a": 0.5}, "seed": 3}"#,
            ] {
                let options = Options::from_json(options).expect("options");
                let fingerprint = refusals_of(&options, |reader| reader.fingerprint(&text));
                let features = refusals_of(&options, |reader| Ok(reader.features(&text)?.iter().count()));
                let resembling = refusals_of(&options, |reader| Ok(resemblance(reader, &text, "a")?.map(f64::to_bits)));
                let differing =
                    refusals_of(&options, |reader| Ok(difference(reader, &text, "a")?.map(|list| list.iter().count())));
                let contained = refusals_of(&options, |reader| Ok(containment(reader, &text, "a")?.map(f64::to_bits)));
                let resembling = resembling.min(differing).min(contained);
                assert!(length < 5_000 || fingerprint.min(features).min(resembling) > 10, "{piece:?} {length}");
            }
        }
    }
}

#[test]
fn documents_may_lack_memory() {
    let options = Options::from_json(r#"{"markup": "html"}"#).expect("options");
    for (start, piece) in [
        ("", "<p>word</p> "),
        ("", "&amp;&nGt;"),
        ("", "<b title='x'>"),
        ("<title></", "a"),
        ("<script></", "script"),
        ("<script><!--<", "script"),
        ("&CounterClockwiseContourIntegral;<title></", "a"),
    ] {
        for length in [40, 5_000, 200_000] {
            let html = format!("{start}{}", piece.repeat(length / piece.len()));
            refusals_of(&options, |reader| reader.fingerprint(&html));
        }
    }
}

/// Fingerprints of which a third are near the one before.
fn fingerprints(count: usize) -> impl Iterator<Item = u64> {
    let mut random = Random(7);
    let mut last = 0;
    (0..count).map(move |n| {
        last = if n % 3 == 0 { random.near(last, 2) } else { random.next() };
        last
    })
}

#[test]
fn pairs_and_clusters_may_lack_memory() {
    let read = |count| -> Result<RowFingerprints, Error> {
        let mut rows = RowFingerprints::with_capacity(0)?;
        fingerprints(count).try_for_each(|fingerprint| rows.push(Some(fingerprint)))?;
        Ok(rows)
    };
    for (count, max_distance) in [(10, 3), (3_000, 3), (3_000, 12), (3_000, 40), (100_000, 3), (100_000, 1)] {
        let pairs = refusals(|| {
            let mut pairs = Pairs::new(read(count)?, max_distance, &|| ())?;
            let mut found = 0;
            while pairs.next(&|| ())?.is_some() {
                found += 1;
            }
            Ok(found)
        });
        let clusters = refusals(|| clusters(read(count)?, max_distance, &|| ()));
        assert!(count == 10 || pairs.min(clusters) > 5, "{count} {max_distance}");
    }
}

#[test]
fn layout_costs_may_lack_memory() {
    for count in [100, 3_000, 40_000] {
        let refused = refusals(|| {
            let mut sample = FingerprintSample::new()?;
            fingerprints(count).for_each(|fingerprint| sample.add(fingerprint));
            layout_costs(sample, 1e6, [(4, 3), (2, 3)], &|| ())
        });
        assert!(refused > 5);
    }
}
