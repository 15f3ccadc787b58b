//! The identity of a `text` argument, by which a function recognises the text of its last call without detoasting it.

use pgrx::pg_sys;
use pgrx::varlena::{varatt_is_1b_e, vartag_1b_e};

use super::text::TextArgument;

impl<'a> TextArgument<'a> {
    /// The text's identity; None if its bytes do not identify it: it is expanded in memory, or referred to indirectly.
    pub fn identity(self) -> Option<TextIdentity<'a>> {
        let varlena: *const pg_sys::varlena = self.0.as_ptr().cast();
        // SAFETY: the argument is a varlena, and an external one has a tag.
        let tag = unsafe { varatt_is_1b_e(varlena).then(|| vartag_1b_e(varlena)) };
        let command = match tag.map(u32::from) {
            None => None,
            Some(pg_sys::vartag_external::VARTAG_ONDISK) => Some(current_command()),
            Some(_) => return None,
        };
        Some(TextIdentity { varlena: self.0, command })
    }
}

/// The identity of a text. Identities are equal only for equal texts, but equal texts may have different identities.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TextIdentity<'a> {
    /// The varlena of the argument: the text, perhaps compressed, or a reference to its out-of-line storage.
    varlena: &'a [u8],
    /// For a reference, the command during which it identifies its text. Later, the table may be changed and vacuumed.
    command: Option<Command>,
}

/// A copy of the identity of a text, by which the text is recognised if it comes again.
#[derive(Debug, Default)]
pub struct CachedText {
    /// Empty if no text is stored: every varlena has a header.
    varlena: Vec<u8>,
    command: Option<Command>,
}

/// The limit on the memory that stays allocated when a shorter text follows, in bytes.
const RETAINED_BYTES: usize = 64 << 10;

impl CachedText {
    /// Whether this is the text with that identity; false without an identity.
    pub fn has_identity(&self, text: Option<TextIdentity<'_>>) -> bool {
        text.is_some_and(|text| self.command == text.command && self.varlena == text.varlena)
    }

    /// Replaces the stored text; false without an identity, for a text of more than `max_bytes`, or if out of memory.
    pub fn store(&mut self, text: Option<TextIdentity<'_>>, max_bytes: usize) -> bool {
        self.varlena.clear();
        let Some(TextIdentity { varlena, command }) = text.filter(|text| text.varlena.len() <= max_bytes) else {
            return false;
        };
        self.varlena.shrink_to(RETAINED_BYTES.max(varlena.len()));
        if self.varlena.try_reserve_exact(varlena.len()).is_err() {
            return false;
        }
        self.varlena.extend_from_slice(varlena);
        self.command = command;
        true
    }
}

/// A command of this session. Transactions in one query string may share all three fields. This matters only if a text
/// is vacuumed between them, and another one gets the OID of its out-of-line storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Command {
    transaction_start: pg_sys::TimestampTz,
    statement_start: pg_sys::TimestampTz,
    number: pg_sys::CommandId,
}

fn current_command() -> Command {
    // SAFETY: a transaction is running, as in every function call, and the functions only read its state.
    unsafe {
        Command {
            transaction_start: pg_sys::GetCurrentTransactionStartTimestamp(),
            statement_start: pg_sys::GetCurrentStatementStartTimestamp(),
            number: pg_sys::GetCurrentCommandId(false),
        }
    }
}
