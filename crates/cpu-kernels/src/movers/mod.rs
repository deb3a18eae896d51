//! Elements on their way between memory and blocks: copies of any layout and past the caches, and
//! conversions between dtypes and the types that are computed with.

mod convert;
mod copy;
mod element;
mod fill;
mod half;
mod stream;
mod transpose;

pub(crate) use convert::{load, store};
pub(crate) use copy::{Copy2d, CopyKernel, copy};
pub(crate) use fill::fill;
pub(crate) use stream::{end_of_streams, stream};
