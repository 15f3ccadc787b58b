//! Loops that report that they are still running, so that a caller can cancel them.

/// Items between two ticks: few enough to take milliseconds, and so many that a tick costs nothing.
pub const EVERY: usize = 1 << 15;

/// Bytes of text between two ticks.
pub const BYTES: usize = 1 << 16;

/// The items, with a tick before the first one and before each [`EVERY`]th one after it.
pub fn ticking<I: IntoIterator>(items: I, tick: impl Fn()) -> impl Iterator<Item = I::Item> {
    items.into_iter().enumerate().map(move |(place, item)| {
        if place % EVERY == 0 {
            tick();
        }
        item
    })
}
