//! One value for each lane of a warp.

use cranelift_codegen::ir::Value;
use ptx::ScalarType;
use smallvec::{SmallVec, smallvec};

/// The number of lanes of a warp.
pub(in crate::codegen) const LANES: usize = 32;

/// One value for each lane of a warp, in the order of the lanes.
///
/// The vectors are those of [`vector_type`](super::vector_type): 8 of four 32-bit numbers, 16 of two 64-bit ones, 4 of
/// eight 16-bit ones (halves are their bits), and for predicates 8 of four 32-bit masks, all ones
/// or zero. 8-bit numbers are the lower halves of 16 bits, and the upper ones may hold anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::codegen) struct Lanes {
    pub(in crate::codegen) values: SmallVec<[Value; 16]>,
}

impl Lanes {
    /// The same value in every vector.
    pub(super) fn repeated(value: Value, count: usize) -> Lanes {
        Lanes { values: smallvec![value; count] }
    }

    /// An operation on each vector. Equal vectors, as in a uniform value, share it.
    pub(super) fn map(&self, mut operation: impl FnMut(Value) -> Value) -> Lanes {
        self.zip(self, |value, _| operation(value))
    }

    /// An operation on each pair of vectors. Equal pairs share it.
    pub(super) fn zip(
        &self,
        other: &Lanes,
        mut operation: impl FnMut(Value, Value) -> Value,
    ) -> Lanes {
        debug_assert_eq!(self.values.len(), other.values.len());
        let mut values: SmallVec<[Value; 16]> = SmallVec::new();
        let mut last = None;
        for (&a, &b) in self.values.iter().zip(&other.values) {
            let value = match last {
                Some((pair, value)) if pair == (a, b) => value,
                _ => operation(a, b),
            };
            last = Some(((a, b), value));
            values.push(value);
        }
        Lanes { values }
    }
}

/// The results of an operation: for each destination the lanes, and the type that they have.
pub(super) type Results = SmallVec<[(Lanes, ScalarType); 2]>;
