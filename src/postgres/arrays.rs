//! Reads the elements of array arguments.

use std::ptr;
use std::slice;

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::{AnyArray, Array, FromDatum};

use super::error::{ErrorReport, Explain, Result, user_error};
use super::server_string::server_string;
use super::text::RawText;

/// The column names in a `text[]`. An error for a NULL, for more names than a table can have, and for one too long.
pub fn column_names(array: &AnyArray, argument: &'static str) -> Result<Vec<String>> {
    let names = elements::<RawText>(array, argument)?;
    if names.len() > pg_sys::MaxHeapAttributeNumber as usize {
        let message = format!("{argument} has {} names", names.len());
        return Err(user_error(PgSqlErrorCode::ERRCODE_TOO_MANY_COLUMNS, message)
            .with_detail(format!("A table has at most {} columns.", pg_sys::MaxHeapAttributeNumber)));
    }
    let read_name = |element: Result<RawText, _>| {
        let name = element?;
        if name.len() >= pg_sys::NAMEDATALEN as usize {
            let message = format!("{argument} has a name of {} bytes", name.len());
            return Err(user_error(PgSqlErrorCode::ERRCODE_NAME_TOO_LONG, message)
                .with_detail(format!("Names have at most {} bytes.", pg_sys::NAMEDATALEN - 1)));
        }
        server_string(name)
    };
    names.map(read_name).collect()
}

/// The elements of a `bigint[]`, some of which may be NULL. They are read in place, because there may be millions.
pub fn bigints<'a>(array: &'a AnyArray, argument: &str) -> Result<Array<'a, i64>> {
    let detoasted = detoast(array, argument)?;
    // SAFETY: the SQL declaration makes the argument a `bigint[]`.
    unsafe { Array::from_datum(pg_sys::Datum::from(detoasted), false) }.ok_or_else(|| {
        user_error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{argument} must not be NULL"))
    })
}

/// The elements of an array argument, with an error in place of each NULL; an error if it has several dimensions. The
/// SQL declaration must make it an array of the type that `T` reads.
pub fn elements<'a, T: FromDatum + 'a>(
    array: &'a AnyArray,
    argument: &'static str,
) -> Result<impl ExactSizeIterator<Item = Result<T>> + 'a> {
    // SAFETY: the memory context of a call lives as long as its arguments.
    let (_, datums, nulls) = unsafe { deconstruct(array, argument)? };
    Ok(datums.iter().zip(nulls).enumerate().map(move |(position, (datum, is_null))| {
        // SAFETY: deconstruct_array returned the datum with its null flag, and it is of the declared type.
        unsafe { T::from_datum(*datum, *is_null) }.ok_or_else(|| null_element(argument, position))
    }))
}

/// An error unless two arrays, each given by its name and length, have the same length. The names are parts of the
/// message: "ids" and "of fingerprints" make "numbers of ids (2) and of fingerprints (1) differ".
pub fn check_same_length(first: (&str, usize), second: (&str, usize), hint: &str) -> Result<()> {
    let ((first_name, first_length), (second_name, second_length)) = (first, second);
    if first_length == second_length {
        return Ok(());
    }
    let message = format!("numbers of {first_name} ({first_length}) and {second_name} ({second_length}) differ");
    Err(user_error(PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR, message).with_hint(hint))
}

/// The error for a NULL element; `position` counts from 0.
pub fn null_element(argument: &str, position: usize) -> ErrorReport {
    user_error(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, format!("{argument} must not contain NULL"))
        .with_detail(format!("Element {} is NULL.", position + 1))
        .with_hint("Filter out NULLs when building the arrays: WHERE ... IS NOT NULL.")
}

/// The type of an array's elements, the elements, and whether each is NULL; an error if it has several dimensions.
///
/// # Safety
/// The current memory context, in which the result is palloc'd, lives as long as `'a`.
pub unsafe fn deconstruct<'a>(any_array: &AnyArray, argument: &str) -> Result<(Oid, &'a [pg_sys::Datum], &'a [bool])> {
    let (mut length, mut is_by_value, mut align) = (0, false, 0);
    let (mut datums, mut nulls, mut count) = (ptr::null_mut(), ptr::null_mut(), 0);
    // SAFETY: a detoasted array holds the type of its elements. deconstruct_array pallocs `count` elements.
    unsafe {
        let array = detoast(any_array, argument)?;
        let element_type = (*array).elemtype;
        pg_sys::get_typlenbyvalalign(element_type, &mut length, &mut is_by_value, &mut align);
        let size = length.into();
        pg_sys::deconstruct_array(array, element_type, size, is_by_value, align, &mut datums, &mut nulls, &mut count);
        if count == 0 {
            return Ok((element_type, &[], &[]));
        }
        Ok((element_type, slice::from_raw_parts(datums, count as usize), slice::from_raw_parts(nulls, count as usize)))
    }
}

/// Detoasts an array; an error if it has several dimensions.
fn detoast(array: &AnyArray, argument: &str) -> Result<*mut pg_sys::ArrayType> {
    // SAFETY: the SQL declaration makes the argument an array, and a detoasted array is an ArrayType.
    let (detoasted, dimensions) = unsafe {
        let detoasted: *mut pg_sys::ArrayType = pg_sys::pg_detoast_datum(array.datum().cast_mut_ptr()).cast();
        (detoasted, (*detoasted).ndim)
    };
    if dimensions > 1 {
        let message = format!("{argument} must be a one-dimensional array");
        return Err(user_error(PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR, message)
            .with_detail(format!("It has {dimensions} dimensions.")));
    }
    Ok(detoasted)
}
