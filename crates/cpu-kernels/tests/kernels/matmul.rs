//! Products of every dtype, size and layout against plain loops.

use cpu_kernels::matmul::{MatmulKernel, MatmulOperands};
use cpu_kernels::{Axes, InstructionSet};
use expression::DType;
use proptest::prelude::*;

use crate::guarded::Guarded;
use crate::values::{assert_same, decode, encode, numbers, rounded};

/// A product of batches, the factors of which lie in rows or in columns.
#[derive(Clone, Copy, Debug)]
struct Case {
    batches: usize,
    sizes: [usize; 3],
    a_in_columns: bool,
    b_in_columns: bool,
    accumulate: bool,
}

impl Case {
    fn of(sizes: [usize; 3]) -> Case {
        Case { batches: 1, sizes, a_in_columns: false, b_in_columns: false, accumulate: false }
    }

    fn strides(&self) -> [[isize; 2]; 2] {
        let [m, n, k] = self.sizes.map(|size| size as isize);
        let a = if self.a_in_columns { [1, m] } else { [k, 1] };
        [a, if self.b_in_columns { [1, k] } else { [n, 1] }]
    }

    fn check(&self, dtype: DType) {
        let [m, n, k] = self.sizes;
        let small = |count: usize| -> Vec<f64> {
            rounded(dtype, &numbers(count).iter().map(|x| x % 3.0).collect::<Vec<_>>())
        };
        let (a, b) = (small(self.batches * m * k), small(self.batches * k * n));
        let before = rounded(dtype, &vec![3.0; self.batches * m * n]);
        let [a_strides, b_strides] = self.strides();
        let mut wanted = Vec::new();
        for (batch, row, col) in (0..self.batches)
            .flat_map(|batch| (0..m).flat_map(move |row| (0..n).map(move |col| (batch, row, col))))
        {
            let at = |strides: [isize; 2], row: usize, col: usize| {
                (row as isize * strides[0] + col as isize * strides[1]) as usize
            };
            let term = |deep: usize| {
                a[batch * m * k + at(a_strides, row, deep)]
                    * b[batch * k * n + at(b_strides, deep, col)]
            };
            let sum: f64 = (0..k).map(term).sum();
            wanted.push(if self.accumulate { sum + before[0] } else { sum });
        }
        let wanted = rounded(dtype, &wanted);
        for &set in InstructionSet::supported() {
            let [a, b] = [&a, &b].map(|x| Guarded::new(&encode(dtype, x)));
            let c = Guarded::new(&encode(dtype, &before));
            let steps = [(m * k) as isize, (k * n) as isize];
            let [of_a, of_b] = [&steps[..1], &steps[1..]]
                .map(|strides| Axes { sizes: std::slice::from_ref(&self.batches), strides });
            let operands = MatmulOperands {
                c: c.start(),
                a: a.start(),
                b: b.start(),
                sizes: self.sizes,
                a_strides,
                b_strides,
                a_batches: of_a,
                b_batches: of_b,
                accumulate: self.accumulate,
            };
            let kernel = MatmulKernel::in_set(dtype, set).expect("it is a number");
            // SAFETY: the arrays are batches of matrices of these sizes and strides.
            unsafe { kernel.run(&operands) };
            let what = format!("{dtype} {} {self:?}", set.name());
            assert_same(&decode(dtype, c.bytes()), &wanted, &what);
        }
    }
}

#[test]
fn products_of_all_dtypes_and_layouts_are_those_of_a_loop() {
    for sizes in [
        [1, 1, 1],
        [3, 5, 2],
        [17, 33, 65],
        [1, 70, 40],
        [70, 1, 40],
        [5, 130, 9],
        [200, 64, 20],
        [2, 3, 0],
        [1, 5, 600],
        [100, 120, 530],
        [16, 600, 300],
        [300, 530, 20],
    ] {
        // The loop is slow: of the large ones, so many that each two properties are had with and
        // without each other.
        let layouts = match sizes.iter().product::<usize>() {
            ..1_000_000 => &[0, 1, 2, 3, 4, 5, 6, 7][..],
            _ => &[0, 3, 5, 6],
        };
        for layout in layouts {
            let case = Case {
                a_in_columns: layout & 1 != 0,
                b_in_columns: layout & 2 != 0,
                accumulate: layout & 4 != 0,
                ..Case::of(sizes)
            };
            DType::ALL.into_iter().filter(|&of| of != DType::Bool).for_each(|of| case.check(of));
        }
    }
}

#[test]
fn large_products_and_many_batches_are_split_between_threads() {
    for dtype in [DType::F32, DType::BF16, DType::I8] {
        Case::of([300, 211, 190]).check(dtype);
        Case { batches: 90, ..Case::of([20, 30, 25]) }.check(dtype);
        Case { batches: 2, ..Case::of([2, 20_000, 30]) }.check(dtype);
    }
}

#[test]
fn products_of_halves_are_added_in_singles() {
    // 2048 and 64 times 1: from 2048 on, halves have no odd numbers.
    let (mut a, b) = (vec![1.0; 65], vec![1.0; 65 * 5]);
    a[0] = 2048.0;
    let [a, b] = [a, b].map(|x| encode(DType::F16, &x));
    let mut c = vec![0u8; 10];
    let once = Axes { sizes: &[], strides: &[] };
    let operands = MatmulOperands {
        c: c.as_mut_ptr(),
        a: a.as_ptr(),
        b: b.as_ptr(),
        sizes: [1, 5, 65],
        a_strides: [65, 1],
        b_strides: [5, 1],
        a_batches: once,
        b_batches: once,
        accumulate: false,
    };
    // SAFETY: the arrays are matrices of these sizes and strides.
    unsafe { MatmulKernel::new(DType::F16).expect("it is a number").run(&operands) };
    assert_eq!(decode(DType::F16, &c), [2112.0; 5]);
    assert!(MatmulKernel::new(DType::Bool).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn products_of_any_size_are_those_of_a_loop(
        batches in 0usize..4,
        sizes in prop::array::uniform3(0usize..40),
        layout in 0u8..8,
        dtype in 0usize..9,
    ) {
        let case = Case {
            batches,
            sizes,
            a_in_columns: layout & 1 != 0,
            b_in_columns: layout & 2 != 0,
            accumulate: layout & 4 != 0,
        };
        case.check(DType::ALL[dtype]);
    }
}

#[test]
fn elements_of_small_products_are_rounded_once() {
    let x = 1.0 + 2f64.powi(-12);
    // In f32 the first product would lose its last part, which is all that is left in the end.
    let [a, b] = [[x, -1.0], [x, 1.0 + 2f64.powi(-11)]].map(|x| encode(DType::F32, &x));
    let mut c = vec![0u8; 4];
    let once = Axes { sizes: &[], strides: &[] };
    let operands = MatmulOperands {
        c: c.as_mut_ptr(),
        a: a.as_ptr(),
        b: b.as_ptr(),
        sizes: [1, 1, 2],
        a_strides: [2, 1],
        b_strides: [1, 1],
        a_batches: once,
        b_batches: once,
        accumulate: false,
    };
    // SAFETY: the arrays are matrices of these sizes and strides.
    unsafe { MatmulKernel::new(DType::F32).expect("it is a number").run(&operands) };
    assert_eq!(decode(DType::F32, &c), [2f64.powi(-24)]);
}
