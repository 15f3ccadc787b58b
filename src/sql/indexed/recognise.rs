//! Recognises columns and index keys that are fingerprints or blocks: their expressions call the extension's functions.
//!
//! Expressions are compared as trees, so it does not matter how they are written in SQL.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};
use postgres::catalog::index::Index;
use postgres::catalog::relation::Relation;
use postgres::error::Result;
use postgres::expression::Expression;
use postgres::json::to_json_text;
use postgres::server_string::server_string;
use simhash::fingerprint::options::Options;
use simhash::search::blocks::DEFAULT_BLOCKS;

use crate::sql::fingerprint::options::{JsonDocument, read_options};
use crate::sql::functions::{BLOCK_ARGUMENTS, ExtensionSchema, TEXT_AND_OPTIONS};

/// `simhash_block(fingerprint, block, blocks)`, with `block` and `blocks` as constants.
#[derive(Clone, Copy, Debug)]
pub struct BlockCall {
    pub fingerprint: Expression,
    pub block: i32,
    pub blocks: i32,
}

impl BlockCall {
    /// Reads an expression as a block of a fingerprint; None if it is not such a call.
    pub fn read(expression: Expression) -> Option<Self> {
        let (function, arguments) = expression.call()?;
        ExtensionSchema::of_own_function(function, c"simhash_block", BLOCK_ARGUMENTS, c"simhash_block_support")?;
        let (fingerprint, block, blocks) = match arguments[..] {
            [fingerprint, block, blocks] => (fingerprint, block, blocks.value()?),
            [fingerprint, block] => (fingerprint, block, DEFAULT_BLOCKS),
            _ => return None,
        };
        Some(Self { fingerprint, block: block.value()?, blocks })
    }
}

/// An index key that is a block of some fingerprint.
pub struct BlockKey {
    /// The columns that are keys before the block.
    pub scope: Vec<i16>,
    pub call: BlockCall,
}

/// The keys of a btree that are blocks, after keys that are columns.
pub fn block_keys(table: &Relation, index: &Index) -> impl Iterator<Item = BlockKey> {
    (0..index.keys.len()).filter_map(move |position| {
        let key = index.keys[position];
        let scope = index.keys[..position].iter().map(|before| before.value.column()).collect::<Option<Vec<_>>>()?;
        let call = key.value.computation(table).filter(|_| key.is_integer).and_then(BlockCall::read)?;
        Some(BlockKey { scope, call })
    })
}

/// `simhash(source)` or `simhash_size(source)`, perhaps with constant options; or the fingerprint of features.
#[derive(Clone, Debug)]
pub struct FingerprintCall {
    /// An expression of the table's columns, in the current memory context.
    pub source: Expression,
    pub options: Options,
    /// The constant that has the options; None if they are not written.
    pub document: Option<Expression>,
}

impl FingerprintCall {
    /// Reads an expression as the fingerprint of a text, of features or of a `tsvector`; None if it is not.
    pub fn read(expression: Expression, schema: ExtensionSchema) -> Option<Self> {
        let functions = [
            (c"simhash", TEXT_AND_OPTIONS),
            (c"simhash_of_features", &[pg_sys::TEXTARRAYOID]),
            (c"simhash", &[pg_sys::TSVECTOROID]),
        ];
        Self::read_one_of(&functions, expression, schema)
    }

    /// Reads an expression as the size of a text; None if it is not.
    pub fn read_size(expression: Expression, schema: ExtensionSchema) -> Option<Self> {
        Self::read_one_of(&[(c"simhash_size", TEXT_AND_OPTIONS)], expression, schema)
    }

    /// Reads a call of one of these functions, given by name and argument types; None unless its options are constant.
    fn read_one_of(functions: &[(&CStr, &[Oid])], expression: Expression, schema: ExtensionSchema) -> Option<Self> {
        let (function, arguments) = expression.call()?;
        let (&source, options) = arguments.split_first()?;
        if !functions.iter().any(|(name, types)| schema.function(name, types) == Some(function)) {
            return None;
        }
        let document = options.first().copied();
        Some(Self { source, options: constant_options(document)?, document })
    }

    /// The call that makes a fingerprint from a text, in the expression that computes the fingerprint: perhaps within
    /// CASE or COALESCE, as in `CASE WHEN length(body) > 100 THEN simhash(body) END`. None for several texts.
    pub fn of_text(computation: Option<Expression>, schema: ExtensionSchema) -> Option<Self> {
        let calls = computation?.outcomes().into_iter().filter_map(|outcome| Self::read(outcome, schema));
        let mut calls = calls.filter(|call| call.source.value_type() == pg_sys::TEXTOID);
        let call = calls.next()?;
        calls.all(|other| other.is_of(call.source, &call.options)).then_some(call)
    }

    /// Reads an expression as [`FingerprintCall::read`] does, in whatever schema the extension is.
    pub fn read_anywhere(expression: Expression) -> Option<Self> {
        let (function, _) = expression.call()?;
        Self::read(expression, ExtensionSchema::containing(function)?)
    }

    /// Whether two expressions are the same fingerprint, even if their options are written differently.
    pub fn are_equal(one: Expression, other: Expression) -> bool {
        let calls = Self::read_anywhere(one).zip(Self::read_anywhere(other));
        calls.is_some_and(|(one, other)| one.is_of(other.source, &other.options))
    }

    /// Whether the call is of this source and these options.
    pub fn is_of(&self, source: Expression, options: &Options) -> bool {
        self.options == *options && self.source.equals(source)
    }

    /// Whether the call gives the same as a call of this text and these options.
    pub fn is_equivalent_to(&self, text: Expression, options: &Options) -> bool {
        self.options.makes_same_fingerprints(options)
            && self.source.without_relabelling().equals(text.without_relabelling())
    }
}

/// The options in a constant, or the defaults without one; None if they are not constant or cannot be read.
pub fn constant_options(document: Option<Expression>) -> Option<Options> {
    let Some(document) = document else { return Some(Options::default()) };
    read_options(constant_document(document)?).ok()
}

/// The options in a constant as JSON, as they are written; `{}` without a constant document.
pub fn options_json(document: Option<Expression>) -> Result<String> {
    match document.and_then(constant_document) {
        // SAFETY: a constant of type jsonb.
        Some(JsonDocument::Jsonb(jsonb)) => unsafe { to_json_text(jsonb) },
        Some(JsonDocument::Text(text)) => server_string(text),
        None => Ok("{}".to_owned()),
    }
}

/// The document in a constant; None if the constant is of another type. It lives as long as the expression.
pub fn constant_document<'a>(constant: Expression) -> Option<JsonDocument<'a>> {
    constant.jsonb().map(JsonDocument::Jsonb).or_else(|| constant.text().map(JsonDocument::Text))
}
