//! The functions of the WebAssembly module. `instance.js` calls them.
//!
//! Only integers and floats cross the boundary. JavaScript writes texts and other long arguments into [`input`]s, calls
//! a function, and reads the [`output`] if the function returns a status. So no function takes a pointer.

#![deny(missing_docs)]

mod batches;
mod distance;
mod input;
mod options;
mod output;
mod texts;
