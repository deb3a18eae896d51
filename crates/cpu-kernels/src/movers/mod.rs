//! Elements on their way between memory and blocks: copies of any layout, and conversions between
//! dtypes and the types that are computed with.

mod convert;
mod copy;
mod fill;
mod transpose;

pub(crate) use convert::{load, store};
pub(crate) use copy::{Copy, StridedCopy, copy};
pub(crate) use fill::fill;
