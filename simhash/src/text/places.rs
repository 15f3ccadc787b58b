//! Where the parts of a text stand in the text that it was made from.

use std::ops::Range;

use crate::error::Result;
use crate::memory::push;
use crate::ticking::ITEMS_BETWEEN_TICKS;

/// The steps by which a text was made from a source, the first one first.
#[derive(Debug, Default)]
pub struct Places(Vec<Edits>);

/// Where a text differs from the one that it was made from: all else was copied. In order.
///
/// An edit is a part of the old text, and what stands in its place; both may be empty. Of each, three numbers are stored,
/// with seven bits in a byte: the bytes that were copied before it, and both lengths. So an edit of a letter, of which a
/// text may have millions, takes three bytes.
#[derive(Debug, Default)]
pub struct Edits {
    numbers: Vec<u8>,
    /// Where the last edit ends in the old text, and in the new one.
    end: (usize, usize),
}

impl Edits {
    pub fn push(&mut self, old: Range<usize>, new: Range<usize>) -> Result<()> {
        let copied = new.start - self.end.1;
        for mut number in [copied, old.end.saturating_sub(self.end.0 + copied), new.len()] {
            while number >= 0x80 {
                push(&mut self.numbers, number as u8 | 0x80)?;
                number >>= 7;
            }
            push(&mut self.numbers, number as u8)?;
        }
        self.end = (old.end, new.end);
        Ok(())
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Places {
    /// Begins the next step.
    pub fn step(&mut self) -> Result<&mut Edits> {
        push(&mut self.0, Edits::default())?;
        let last = self.0.len() - 1;
        Ok(&mut self.0[last])
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Finds where parts of the text stand in the source. Each starts and ends no earlier than the one before.
    pub fn finder(&self) -> Result<Finder<'_>> {
        let mut steps = Vec::new();
        for edits in self.0.iter().rev() {
            let [starts, ends] = [(); 2].map(|()| Cursor::new(&edits.numbers));
            push(&mut steps, (starts, ends))?;
        }
        Ok(Finder(steps))
    }
}

/// How far the edits of each step have been read, for the starts and for the ends of parts. The last step comes first.
pub struct Finder<'a>(Vec<(Cursor<'a>, Cursor<'a>)>);

impl Finder<'_> {
    /// Where a part of the text stands in the source. A character of the source that has become several is one place.
    pub fn source(&mut self, part: Range<usize>, tick: &dyn Fn()) -> Range<usize> {
        self.0.iter_mut().fold(part, |Range { start, end }, (starts, ends)| {
            starts.skip(|edit| edit.new.end <= start, tick);
            ends.skip(|edit| edit.new.end < end, tick);
            let edit = starts.next.as_ref().filter(|edit| edit.new.start <= start);
            let until = ends.next.as_ref().filter(|edit| edit.new.start < end);
            edit.map_or_else(|| starts.moved(start), |edit| edit.old.start)
                ..until.map_or_else(|| ends.moved(end), |edit| edit.old.end)
        })
    }
}

/// A part of the old text, and what stands in its place.
struct Edit {
    old: Range<usize>,
    new: Range<usize>,
}

struct Cursor<'a> {
    numbers: &'a [u8],
    /// Where the edits so far end in the old text, and in the new one.
    end: (usize, usize),
    next: Option<Edit>,
}

impl<'a> Cursor<'a> {
    fn new(numbers: &'a [u8]) -> Self {
        let mut cursor = Self { numbers, end: (0, 0), next: None };
        cursor.next = cursor.read();
        cursor
    }

    /// Goes on to the first edit that is not before what is looked for.
    fn skip(&mut self, is_before: impl Fn(&Edit) -> bool, tick: &dyn Fn()) {
        let mut skipped = 0;
        while let Some(edit) = self.next.take_if(|edit| is_before(edit)) {
            skipped += 1;
            if skipped % ITEMS_BETWEEN_TICKS == 0 {
                tick();
            }
            self.end = (edit.old.end, edit.new.end);
            self.next = self.read();
        }
    }

    fn read(&mut self) -> Option<Edit> {
        let copied = self.number()?;
        let (old, new) = (self.end.0 + copied, self.end.1 + copied);
        Some(Edit { old: old..old + self.number()?, new: new..new + self.number()? })
    }

    fn number(&mut self) -> Option<usize> {
        let length = self.numbers.iter().position(|byte| *byte < 0x80)? + 1;
        let (number, rest) = self.numbers.split_at(length);
        self.numbers = rest;
        Some(number.iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 0x7f)))
    }

    /// The old offset of a place that is copied, after the edits so far.
    fn moved(&self, offset: usize) -> usize {
        offset - self.end.1 + self.end.0
    }
}

/// Makes a text from another one by replacing parts of it, in order.
pub struct Rewriting<'a> {
    old: &'a str,
    copied: usize,
    new: &'a mut String,
    edits: Option<&'a mut Edits>,
}

/// Replaces parts of a text.
pub type Step = fn(&str, &mut Rewriting<'_>, &dyn Fn()) -> Result<()>;

/// Takes a step, and adds it to `places`. Needs memory for another copy of the text.
pub fn rewrite(text: &mut String, step: Step, places: Option<&mut Places>, tick: &dyn Fn()) -> Result<()> {
    let mut new = String::new();
    new.try_reserve(text.len())?;
    let edits = places.map(Places::step).transpose()?;
    let mut rewriting = Rewriting { old: text, copied: 0, new: &mut new, edits };
    step(text, &mut rewriting, tick)?;
    let copied = rewriting.copied;
    new.push_str(&text[copied..]);
    *text = new;
    Ok(())
}

impl Rewriting<'_> {
    /// Copies what stands before a part of the old text, and puts another text in its place.
    pub fn replace(&mut self, part: Range<usize>, with: &str) -> Result<()> {
        self.new.try_reserve(with.len() + self.old.len() - self.copied)?;
        self.new.push_str(&self.old[self.copied..part.start]);
        let start = self.new.len();
        self.new.push_str(with);
        self.copied = part.end;
        match &mut self.edits {
            None => Ok(()),
            Some(edits) => edits.push(part, start..self.new.len()),
        }
    }
}
