//! Python's pickles, read and written as plain data: numbers, texts, lists, tuples and
//! dictionaries.
//!
//! A pickle is a program, which Python runs to make objects of any class. Here nothing is ever
//! executed: what would make an object becomes a note of which function was to be called with
//! which arguments, and only if the caller has listed that function ([`Allowed`]). A pickle that
//! names any other is refused, with the name.
//!
//! ```
//! use pickle::{Allowed, Error, Pickle, PickleWriter};
//!
//! let mut writer = PickleWriter::new();
//! writer.dict(|entries| {
//!     entries.of("epoch").int(3);
//!     entries.of("sizes").list(&[2, 3], |writer, size| writer.int(*size));
//! });
//! let bytes = writer.finish();
//!
//! let pickle = Pickle::read(&bytes, Allowed::NOTHING)?;
//! let sizes = pickle.root().get("sizes").and_then(|sizes| sizes.items()).expect("a list");
//! assert_eq!(sizes.map(|size| size.int()).collect::<Vec<_>>(), [Some(2), Some(3)]);
//!
//! // pickle.dumps(os.system, protocol=2)
//! let error = Pickle::read(b"\x80\x02cposix\nsystem\n.", Allowed::NOTHING).unwrap_err();
//! assert!(matches!(error, Error::Global { ref module, ref name, .. } if module == "posix" && name == "system"));
//! # Ok::<(), Error>(())
//! ```
//!
//! # Bounds
//! Parts of a pickle refer to each other by number, as often as the pickle says so. Nothing is
//! copied, so a small pickle cannot unfold into a large one, and reading takes memory for a fixed
//! number of bytes for each byte that is read. No function calls itself. But the parts may refer to
//! each other in circles, and a walk over them can meet the same part many times: who walks counts
//! what it has seen.
//!
//! # What it is not
//! It has no sets, no integers of more than 128 bits, and none of protocols 0 and 1. What is
//! written is of protocol 4, with those instructions only that PyTorch's viewer of memory snapshots
//! knows; what is read is of protocols 2 to 5.
#![forbid(unsafe_code)]

mod code;
mod error;
mod read;
mod value;
mod write;

pub use self::error::{Error, Result};
pub use self::value::{Allowed, GlobalName, Pickle, PickleValue};
pub use self::write::{Entries, Memo, PickleWriter};

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
