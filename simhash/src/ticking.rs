//! Loops that tick: they call a closure now and then, so that a caller can cancel them.

/// Items between two ticks: few enough to take milliseconds even if each is a feature to hash, and enough to make the
/// cost of a tick negligible.
pub const ITEMS_BETWEEN_TICKS: usize = 1 << 12;

/// Numbers that a simple loop handles between two ticks: half a millisecond at most.
pub const NUMBERS_BETWEEN_TICKS: usize = 1 << 15;

/// Pairs of texts that are compared between two ticks.
pub const PAIRS_BETWEEN_TICKS: usize = 1 << 10;

/// Bytes of text between two ticks.
pub const BYTES_BETWEEN_TICKS: usize = 1 << 16;

/// The items of an iterator, with a call of `tick` before the first item and before each [`ITEMS_BETWEEN_TICKS`]th item
/// after it.
pub fn ticking<I: IntoIterator>(items: I, tick: impl Fn()) -> impl Iterator<Item = I::Item> {
    items.into_iter().enumerate().map(move |(index, item)| {
        if index % ITEMS_BETWEEN_TICKS == 0 {
            tick();
        }
        item
    })
}

/// Sorts by a key, of which only the lowest `bits` bits differ between the items. Long lists are split by the highest
/// of these bits first, so that the sort can be cancelled.
pub(crate) fn sort<T: Copy>(items: &mut [T], key: &impl Fn(&T) -> u64, bits: u32, tick: &dyn Fn()) {
    tick();
    if items.len() <= NUMBERS_BETWEEN_TICKS || bits == 0 {
        return items.sort_unstable_by_key(key);
    }
    let mut zeros = 0;
    for index in ticking(0..items.len(), tick) {
        if key(&items[index]) >> (bits - 1) & 1 == 0 {
            items.swap(zeros, index);
            zeros += 1;
        }
    }
    let (zeros, ones) = items.split_at_mut(zeros);
    sort(zeros, key, bits - 1, tick);
    sort(ones, key, bits - 1, tick);
}
