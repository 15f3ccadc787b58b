//! `hamming`, which is also the operator `<~>`.

use pgrx::pg_extern;
use simhash::distance;

#[pg_extern(sql = false)]
fn hamming(a: i64, b: i64) -> i32 {
    distance::hamming(a.cast_unsigned(), b.cast_unsigned()).cast_signed()
}
