//! Arguments of printed kernels: one struct by value, laid out as C lays it out.

/// The most inputs that a kernel has: twice as many as outputs, since the gradients of as many inputs
/// are computed from these and from as many gradients of outputs.
pub const MAX_INPUTS: usize = 16;
/// The most outputs that a kernel has.
pub const MAX_OUTPUTS: usize = 8;
/// The most operands that a kernel has.
pub const MAX_OPERANDS: usize = MAX_INPUTS + MAX_OUTPUTS;
/// The most numbers that a call gives.
pub const MAX_SCALARS: usize = 16;
/// The most dimensions that a strided kernel has.
pub const MAX_DIMS: usize = 8;

/// The argument of a kernel of [`LayoutClass::Dense`](super::LayoutClass::Dense).
///
/// Operands are numbered from the first output on: outputs, then inputs. Addresses are of the
/// device, and multiples of the size of an element. An output may be exactly an input (the same
/// address), and else overlaps no other operand.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DenseArguments {
    /// The number of elements.
    pub numel: u64,
    /// The first element of each operand.
    pub addresses: [u64; MAX_OPERANDS],
    /// The numbers of the call: bits of values of the expression's types, in the low bytes.
    pub scalars: [u64; MAX_SCALARS],
}

/// The argument of a kernel of [`LayoutClass::Broadcast2d`](super::LayoutClass::Broadcast2d).
///
/// Operands are those of [`DenseArguments`]. An output may be exactly an input (the same address and
/// stride), and else overlaps no other operand.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Broadcast2dArguments {
    /// The number of rows.
    pub rows: u64,
    /// The number of elements in a row.
    pub columns: u64,
    /// The first element of each operand.
    pub addresses: [u64; MAX_OPERANDS],
    /// The distance from one row of each operand to the next, in elements; it may be zero, as that of
    /// a bias that is added to all rows, or negative.
    pub row_strides: [i64; MAX_OPERANDS],
    /// The numbers of the call: bits of values of the expression's types, in the low bytes.
    pub scalars: [u64; MAX_SCALARS],
}

impl Broadcast2dArguments {
    /// Grid and block that suit a shape, for blocks of `threads` threads, a power of two: along
    /// `x` as many threads as a row has groups of `elements_per_thread` elements, or a block if
    /// that is fewer, and rows along `y`. The kernel is right for every grid of two dimensions.
    pub fn launch_shape(
        rows: u64,
        columns: u64,
        elements_per_thread: usize,
        threads: u32,
    ) -> ([u32; 3], [u32; 3]) {
        const MAX_GRID_Y: u64 = 65_535;
        let groups = columns.div_ceil(elements_per_thread as u64).max(1);
        let along_x = groups.next_power_of_two().min(u64::from(threads));
        let along_y = u64::from(threads) / along_x;
        let blocks_x = groups.div_ceil(along_x).min(i32::MAX as u64);
        let blocks_y = rows.div_ceil(along_y).clamp(1, MAX_GRID_Y);
        ([blocks_x as u32, blocks_y as u32, 1], [along_x as u32, along_y as u32, 1])
    }
}

/// The argument of a kernel of [`LayoutClass::Strided`](super::LayoutClass::Strided).
///
/// Operands are those of [`DenseArguments`], and sizes and strides stand outermost first, from
/// position 0 on. An output may be exactly an input (the same address and strides), and else
/// overlaps no other operand.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct StridedArguments {
    /// The number of elements: the product of the sizes.
    pub numel: u64,
    /// The size of each dimension.
    pub sizes: [u64; MAX_DIMS],
    /// The divisor for each size; what kernels with indices of 64 bits do not read.
    pub divisors: [MagicDivisor; MAX_DIMS],
    /// The element of each operand at the origin.
    pub addresses: [u64; MAX_OPERANDS],
    /// The strides of each operand, in elements; they may be zero or negative.
    pub strides: [[i64; MAX_DIMS]; MAX_OPERANDS],
    /// The numbers of the call: bits of values of the expression's types, in the low bytes.
    pub scalars: [u64; MAX_SCALARS],
}

impl StridedArguments {
    /// An argument for these sizes, outermost first. Addresses, strides and scalars are to be
    /// filled in.
    ///
    /// # Panics
    /// There are more than [`MAX_DIMS`] sizes.
    pub fn new(sizes: &[usize]) -> StridedArguments {
        let mut arguments = StridedArguments { numel: 1, ..StridedArguments::default() };
        for (number, &size) in sizes.iter().enumerate() {
            arguments.numel *= size as u64;
            arguments.sizes[number] = size as u64;
            arguments.divisors[number] = MagicDivisor::new(size as u32);
        }
        arguments
    }

    /// Whether a kernel with indices of 32 bits may run with these sizes and strides.
    pub fn fits_32_bits(sizes: &[usize], strides: &[&[isize]]) -> bool {
        const LIMIT: u64 = 1 << 31;
        let numel = sizes.iter().try_fold(1u64, |numel, &size| numel.checked_mul(size as u64));
        let spans = |strides: &&[isize]| {
            let span = sizes.iter().zip(*strides).try_fold(0u64, |span, (&size, &stride)| {
                let steps = (size as u64).saturating_sub(1);
                span.checked_add(steps.checked_mul(stride.unsigned_abs() as u64)?)
            });
            span.is_some_and(|span| span < LIMIT)
        };
        numel.is_some_and(|numel| numel < LIMIT) && strides.iter().all(spans)
    }
}

/// A divisor of numbers below 2³¹, as a multiplication and a shift:
/// `n / d = (high(n * multiplier) + n) >> shift`, where `high` is the upper half of the product of
/// two 32-bit numbers.
///
/// (T. Granlund, P. L. Montgomery: Division by Invariant Integers using Multiplication. PLDI 1994.)
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MagicDivisor {
    /// The multiplier.
    pub multiplier: u32,
    /// The shift, from 0 to 31.
    pub shift: u32,
}

impl MagicDivisor {
    /// For division by a number from 1 to 2³¹ - 1; others, which kernels of 32 bits do not meet, are
    /// taken as 1.
    pub fn new(divisor: u32) -> MagicDivisor {
        if divisor == 0 || divisor > i32::MAX as u32 {
            return MagicDivisor::new(1);
        }
        let shift = divisor.next_power_of_two().trailing_zeros();
        let excess = (1u64 << shift) - u64::from(divisor);
        let multiplier = (excess << 32) / u64::from(divisor) + 1;
        MagicDivisor { multiplier: multiplier as u32, shift }
    }
}

#[cfg(test)]
mod tests {
    use super::{Broadcast2dArguments, MagicDivisor, StridedArguments};

    #[test]
    fn narrow_rows_share_a_block_and_wide_ones_have_several() {
        let shape = |rows, columns| Broadcast2dArguments::launch_shape(rows, columns, 4, 256);
        assert_eq!(shape(1000, 10), ([1, 16, 1], [4, 64, 1]));
        assert_eq!(shape(3, 5000), ([5, 3, 1], [256, 1, 1]));
        assert_eq!(shape(0, 0), ([1, 1, 1], [1, 256, 1]));
        assert_eq!(shape(1 << 40, 1 << 40), ([1 << 30, 65_535, 1], [256, 1, 1]));
    }

    #[test]
    fn a_magic_divisor_divides_all_that_it_may_be_asked_for() {
        let most = i32::MAX as u32;
        let numbers = [1, 2, 3, 5, 7, 10, 255, 256, 641, 65_535, 1 << 30, most - 1, most];
        for divisor in numbers {
            let MagicDivisor { multiplier, shift } = MagicDivisor::new(divisor);
            let multiples = numbers.iter().map(|n| n / divisor * divisor);
            for n in numbers.iter().copied().chain(multiples).flat_map(|n| [n.saturating_sub(1), n])
            {
                let high = ((u64::from(n) * u64::from(multiplier)) >> 32) as u32;
                assert_eq!((high + n) >> shift, n / divisor, "{n} / {divisor}");
            }
        }
    }

    #[test]
    fn distances_decide_whether_32_bits_suffice() {
        assert!(StridedArguments::fits_32_bits(&[3, 4], &[&[4, 1], &[-1, 3]]));
        assert!(StridedArguments::fits_32_bits(&[], &[&[]]));
        assert!(!StridedArguments::fits_32_bits(&[1 << 20, 1 << 11], &[&[0, 0]]));
        assert!(!StridedArguments::fits_32_bits(&[2], &[&[isize::MIN]]));
        assert!(StridedArguments::fits_32_bits(&[1], &[&[isize::MIN]]));
    }
}
