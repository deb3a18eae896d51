//! What converts into indices.

use smallvec::{SmallVec, smallvec};

use super::indices::{TensorIndex, TensorIndices};
use crate::Tensor;
use crate::integer::{Integer, clamped, from_integer_lists};

macro_rules! integers {
    ($($integer:ty),+ $(,)?) => {$(
        impl From<$integer> for TensorIndex {
            fn from(index: $integer) -> TensorIndex {
                TensorIndex::Integer(clamped(index))
            }
        }
    )+};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl From<bool> for TensorIndex {
    fn from(truth: bool) -> TensorIndex {
        TensorIndex::Truth(truth)
    }
}

impl From<Tensor> for TensorIndex {
    fn from(tensor: Tensor) -> TensorIndex {
        TensorIndex::Tensor(tensor)
    }
}

impl From<&Tensor> for TensorIndex {
    fn from(tensor: &Tensor) -> TensorIndex {
        TensorIndex::Tensor(tensor.clone())
    }
}

impl<I: Integer> From<&[I]> for TensorIndex {
    fn from(list: &[I]) -> TensorIndex {
        TensorIndex::List(list.iter().map(|&index| clamped(index) as i64).collect())
    }
}

from_integer_lists!(TensorIndex);

impl<I: Into<TensorIndex>> From<I> for TensorIndices {
    fn from(index: I) -> TensorIndices {
        TensorIndices(smallvec![index.into()])
    }
}

impl From<&[TensorIndex]> for TensorIndices {
    fn from(indices: &[TensorIndex]) -> TensorIndices {
        TensorIndices(indices.iter().cloned().collect())
    }
}

impl From<&Vec<TensorIndex>> for TensorIndices {
    fn from(indices: &Vec<TensorIndex>) -> TensorIndices {
        indices.as_slice().into()
    }
}

impl From<Vec<TensorIndex>> for TensorIndices {
    fn from(indices: Vec<TensorIndex>) -> TensorIndices {
        TensorIndices(indices.into())
    }
}

/// No index: the whole tensor.
impl From<()> for TensorIndices {
    fn from((): ()) -> TensorIndices {
        TensorIndices(SmallVec::new())
    }
}

macro_rules! tuples {
    ($(($($index:ident),+);)+) => {$(
        impl<$($index: Into<TensorIndex>),+> From<($($index,)+)> for TensorIndices {
            #[allow(non_snake_case)]
            fn from(($($index,)+): ($($index,)+)) -> TensorIndices {
                TensorIndices(smallvec![$($index.into()),+])
            }
        }
    )+};
}

tuples! {
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
    (A, B, C, D, E, F, G);
    (A, B, C, D, E, F, G, H);
}
