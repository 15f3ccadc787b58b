//! Code of several tests.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod calls;
pub mod connected;
pub mod ticks;
