//! The operands of a call of a fused function.

use crate::Tensor;
use crate::ops::operand::TensorOrScalar;

/// The `N` operands of a call of a [`fuse`](crate::fuse)d function, each a tensor or a number: an
/// array of one kind, or a tuple of up to eight of any (`(&x, &y, 0.5)`).
pub trait FusedOperands<'a, const N: usize> {
    /// The operands in their order.
    fn operands(self) -> [TensorOrScalar<'a>; N];
}

impl<'a, const N: usize, T: Into<TensorOrScalar<'a>>> FusedOperands<'a, N> for [T; N] {
    fn operands(self) -> [TensorOrScalar<'a>; N] {
        self.map(Into::into)
    }
}

/// A function of one operand takes it as it is.
impl<'a> FusedOperands<'a, 1> for &'a Tensor {
    fn operands(self) -> [TensorOrScalar<'a>; 1] {
        [self.into()]
    }
}

macro_rules! tuples {
    ($($count:literal: $($operand:ident)*;)*) => {$(
        impl<'a, $($operand: Into<TensorOrScalar<'a>>),*> FusedOperands<'a, $count>
            for ($($operand,)*)
        {
            #[expect(non_snake_case, reason = "the operands are named as their types")]
            fn operands(self) -> [TensorOrScalar<'a>; $count] {
                let ($($operand,)*) = self;
                [$($operand.into()),*]
            }
        }
    )*};
}

tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
}
