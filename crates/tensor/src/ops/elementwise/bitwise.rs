//! Operations on the bits of integers, and on divisors.

use super::{binary, unary};
use crate::ops::pointwise::Kinds;

unary! {
    /// The bits inverted; for truth values "not".
    [[0, 5] => "tensor([-1, -6])"]
    BITWISE_NOT: bitwise_not, bitwise_not_ = common(|[x]| !x).of(Kinds::INTEGRAL);
}

binary! {
    /// The bits that both have; for truth values "and".
    [[6, 5], 3 => "tensor([2, 1])"]
    BITWISE_AND: bitwise_and, bitwise_and_ = common(|[a, b]| a & b).of(Kinds::INTEGRAL);
    /// The bits that one of them has; for truth values "or".
    [[6, 5], 3 => "tensor([7, 7])"]
    BITWISE_OR: bitwise_or, bitwise_or_ = common(|[a, b]| a | b).of(Kinds::INTEGRAL);
    /// The bits that exactly one of them has; for truth values "exclusive or".
    [[6, 5], 3 => "tensor([5, 6])"]
    BITWISE_XOR: bitwise_xor, bitwise_xor_ = common(|[a, b]| a ^ b).of(Kinds::INTEGRAL);
    /// The bits moved up by `other`; 0 where `other` is negative or not less than their number.
    [[1, 3], 2 => "tensor([ 4, 12])"]
    BITWISE_LEFT_SHIFT: bitwise_left_shift, bitwise_left_shift_ = common(|[a, b]| a << b)
        .of(Kinds::INTEGERS);
    /// The bits moved down by `other`, with the sign kept; only the sign is left where `other` is
    /// negative or not less than the number of bits.
    [[8, -8], 2 => "tensor([ 2, -2])"]
    BITWISE_RIGHT_SHIFT: bitwise_right_shift, bitwise_right_shift_ = common(|[a, b]| a >> b)
        .of(Kinds::INTEGERS);
    /// The greatest common divisor, not negative; that of 0 and 0 is 0.
    [[12, 18], 8 => "tensor([4, 2])"]
    GCD: gcd, gcd_ = common(|[a, b]| a.gcd(b)).of(Kinds::INTEGERS);
    /// The least common multiple, not negative; 0 if one of them is 0.
    [[4, 6], 10 => "tensor([20, 30])"]
    LCM: lcm, lcm_ = common(|[a, b]| a.lcm(b)).of(Kinds::INTEGERS);
}
