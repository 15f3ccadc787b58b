//! Where the parts of a text stand in the text that it was made from.

use std::iter::{self, Peekable};
use std::ops::Range;

use crate::error::Result;
use crate::memory::push;
use crate::ticking::ticking;

/// The steps by which a text was made from a source, the first one first.
#[derive(Debug, Default)]
pub struct Places(Vec<Edits>);

/// The differences of a text from its source, in order. All other parts were copied.
///
/// An edit is a part of the old text, and the part of the new text that replaces it; both may be empty. Three numbers
/// are stored for each, with seven bits in a byte: the bytes that were copied before it, and both lengths. So an edit
/// of a letter takes three bytes. A text may have millions of these.
#[derive(Debug, Default)]
pub struct Edits {
    numbers: Vec<u8>,
    /// Where the last edit ends in the old text, and in the new one.
    end: (usize, usize),
}

impl Edits {
    /// Adds an edit, which comes after those before.
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

    /// The edits, and a last one beyond the end of the text: all text before it is copied.
    fn iter(&self) -> impl Iterator<Item = Edit> {
        let mut bytes = self.numbers.iter().map(|byte| usize::from(*byte));
        let mut number = move || {
            let (mut number, mut shift) = (0, 0);
            loop {
                let byte = bytes.next()?;
                number |= (byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return Some(number);
                }
            }
        };
        let (mut old, mut new) = (0..0, 0..0);
        let edits = iter::from_fn(move || {
            let copied = number()?;
            (old, new) =
                (old.end + copied..old.end + copied + number()?, new.end + copied..new.end + copied + number()?);
            Some(Edit { old: old.clone(), new: new.clone() })
        });
        let (old, new) = (self.end.0 + usize::MAX / 2, self.end.1 + usize::MAX / 2);
        edits.chain(iter::once(Edit { old: old..old, new: new..usize::MAX }))
    }
}

struct Edit {
    old: Range<usize>,
    new: Range<usize>,
}

impl Places {
    pub fn begin_step(&mut self) -> Result<&mut Edits> {
        push(&mut self.0, Edits::default())?;
        let last = self.0.len() - 1;
        Ok(&mut self.0[last])
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Finds where parts of the text stand in the source. Each part must start and end no earlier than the one before.
    pub fn finder<'a>(&'a self, tick: &'a dyn Fn()) -> Result<Finder<'a>> {
        let mut steps = Vec::new();
        for edits in self.0.iter().rev() {
            let cursor =
                || -> Cursor<'a> { (Box::new(ticking(edits.iter(), tick)) as Box<dyn Iterator<Item = _>>).peekable() };
            push(&mut steps, (cursor(), cursor()))?;
        }
        Ok(Finder(steps))
    }
}

/// For each step, the last one first, two cursors over its edits: one follows the starts of the parts, the other their
/// ends.
pub struct Finder<'a>(Vec<(Cursor<'a>, Cursor<'a>)>);

type Cursor<'a> = Peekable<Box<dyn Iterator<Item = Edit> + 'a>>;

impl Finder<'_> {
    /// Where a part of the text stands in the source. If a character of the source has become several, all of them
    /// stand at this character.
    pub fn find_source(&mut self, part: Range<usize>) -> Range<usize> {
        self.0.iter_mut().fold(part, |Range { start, end }, (starts, ends)| {
            while starts.next_if(|edit| edit.new.end <= start).is_some() {}
            while ends.next_if(|edit| edit.new.end < end).is_some() {}
            let (Some(first), Some(last)) = (starts.peek(), ends.peek()) else {
                unreachable!("the last edit is endless")
            };
            let is_within = last.new.start < end;
            first.old.start - first.new.start.saturating_sub(start)..if is_within {
                last.old.end
            } else {
                last.old.start - (last.new.start - end)
            }
        })
    }
}

/// Makes a text from another one by replacing parts of it, in order. `old` is copied up to byte `copied`.
pub struct Rewriting<'a> {
    old: &'a str,
    copied: usize,
    new: &'a mut String,
    edits: Option<&'a mut Edits>,
}

/// A step replaces parts of a text.
pub type Step = fn(&str, &mut Rewriting<'_>, &dyn Fn()) -> Result<()>;

/// Takes a step, and adds its edits to `places`. Needs memory for another copy of the text.
pub fn rewrite(text: &mut String, step: Step, places: Option<&mut Places>, tick: &dyn Fn()) -> Result<()> {
    let mut new = String::new();
    new.try_reserve(text.len())?;
    let edits = places.map(Places::begin_step).transpose()?;
    let mut rewriting = Rewriting { old: text, copied: 0, new: &mut new, edits };
    step(text, &mut rewriting, tick)?;
    let copied = rewriting.copied;
    new.push_str(&text[copied..]);
    *text = new;
    Ok(())
}

impl Rewriting<'_> {
    /// Copies the old text before a part, and appends another text in place of the part.
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
