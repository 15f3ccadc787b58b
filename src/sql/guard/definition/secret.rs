//! The secret with which a guard's lock keys are hashed: pg_locks is public, and must not reveal fingerprints.

use std::ffi::CString;
use std::slice;

use pgrx::pg_sys::{self, Oid};
use pgrx::{IntoDatum, direct_function_call};
use simhash::search::lock_keys::Secret;

/// The secret of a guard: SHA-256 of its table, its arguments, and a random number of the database cluster. Only users
/// with access to the cluster's files can read that number (PostgreSQL derives from it the salts of roles that do not
/// exist). As each guard has its own secret, the locks on a user's own table reveal nothing about another's, and two
/// guards of one table do not wait for each other's rows.
pub fn secret(table: Oid, arguments: &[CString]) -> Secret {
    // SAFETY: the number has this length, and stays in shared memory as long as the server runs. MyDatabaseId is a
    // plain number, set when the session started.
    let (nonce, database) = unsafe {
        let nonce = pg_sys::GetMockAuthenticationNonce().cast::<u8>();
        (slice::from_raw_parts(nonce, pg_sys::MOCK_AUTH_NONCE_LEN as usize), pg_sys::MyDatabaseId)
    };
    let mut secret = [0; _];
    for (number, part) in (0u32..).zip(secret.chunks_mut(32)) {
        let numbers = [database.to_u32(), table.to_u32(), number].map(u32::to_le_bytes);
        let mut hashed = [nonce, numbers.as_flattened()].concat();
        hashed.extend(arguments.iter().flat_map(|argument| argument.to_bytes_with_nul()));
        // SAFETY: sha256 takes a bytea and returns one, never NULL.
        let hash: Option<Vec<u8>> = unsafe { direct_function_call(pg_sys::sha256_bytea, &[hashed.into_datum()]) };
        part.copy_from_slice(&hash.expect("sha256 is not NULL"));
    }
    Secret(secret)
}
