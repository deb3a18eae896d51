//! What the reader makes of pickles of all kinds, and that it takes any bytes.

mod any_bytes;
mod reading;
