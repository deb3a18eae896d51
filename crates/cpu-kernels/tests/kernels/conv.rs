//! The three passes of convolutions of every dtype and geometry against plain loops.

use cpu_kernels::InstructionSet;
use cpu_kernels::conv::{ConvKernel, ConvOperands, ConvPass, ConvShape};
use expression::DType;
use proptest::prelude::*;

use crate::guarded::Guarded;
use crate::values::{assert_same, decode, encode, numbers, rounded};

/// The output's sizes follow from the others.
fn shape(
    [batch, groups, in_channels, out_channels]: [usize; 4],
    input: [usize; 3],
    kernel: [usize; 3],
    [stride, padding, dilation]: [[usize; 3]; 3],
) -> ConvShape {
    let output = [0, 1, 2].map(|dim| {
        let extent = dilation[dim] * (kernel[dim] - 1) + 1;
        (input[dim] + 2 * padding[dim]).saturating_sub(extent) / stride[dim] + 1
    });
    ConvShape {
        batch,
        groups,
        in_channels,
        out_channels,
        input,
        kernel,
        output,
        stride,
        padding,
        dilation,
    }
}

fn volume(sizes: [usize; 3]) -> usize {
    sizes.iter().product()
}

/// The three tensors' numbers of elements: input, weight, output.
fn lens(shape: &ConvShape) -> [usize; 3] {
    let ConvShape { batch, groups, in_channels, out_channels, .. } = *shape;
    [
        batch * groups * in_channels * volume(shape.input),
        groups * out_channels * in_channels * volume(shape.kernel),
        batch * groups * out_channels * volume(shape.output),
    ]
}

/// Calls `meet` with the places of each input, weight and output that meet.
fn meetings(shape: &ConvShape, mut meet: impl FnMut(usize, usize, usize)) {
    let places = |sizes: [usize; 3]| {
        (0..volume(sizes))
            .map(move |at| [at / (sizes[1] * sizes[2]), at / sizes[2] % sizes[1], at % sizes[2]])
    };
    let place = |sizes: [usize; 3], at: [usize; 3]| (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
    let ConvShape { batch, groups, in_channels, out_channels, .. } = *shape;
    for o in places(shape.output) {
        for k in places(shape.kernel) {
            let at = [0, 1, 2].map(|dim| {
                let at = o[dim] * shape.stride[dim] + k[dim] * shape.dilation[dim];
                at.checked_sub(shape.padding[dim]).filter(|at| *at < shape.input[dim])
            });
            let [Some(z), Some(y), Some(x)] = at else { continue };
            for (sample, group) in (0..batch * groups).map(|at| (at / groups, at % groups)) {
                for (out, own) in
                    (0..out_channels * in_channels).map(|at| (at / in_channels, at % in_channels))
                {
                    let input = (sample * groups + group) * in_channels + own;
                    let weight = (group * out_channels + out) * in_channels + own;
                    let output = (sample * groups + group) * out_channels + out;
                    meet(
                        input * volume(shape.input) + place(shape.input, [z, y, x]),
                        weight * volume(shape.kernel) + place(shape.kernel, k),
                        output * volume(shape.output) + place(shape.output, o),
                    );
                }
            }
        }
    }
}

fn check(shape: &ConvShape, dtype: DType) {
    let small = |count: usize| -> Vec<f64> {
        rounded(dtype, &numbers(count).iter().map(|x| x % 3.0).collect::<Vec<_>>())
    };
    let tensors = lens(shape).map(small);
    let biases = [shape.groups * shape.in_channels, 0, shape.groups * shape.out_channels];
    let passes = [ConvPass::Input, ConvPass::Weight, ConvPass::Output];
    for (position, pass) in passes.into_iter().enumerate() {
        let bias = rounded(dtype, &numbers(biases[position]));
        let mut wanted = vec![0.0; tensors[position].len()];
        meetings(shape, |input, weight, output| {
            let at = [input, weight, output];
            let others = (0..3).filter(|other| *other != position);
            wanted[at[position]] += others.map(|other| tensors[other][at[other]]).product::<f64>();
        });
        if !bias.is_empty() {
            let channel = wanted.len() / (shape.batch * bias.len()).max(1);
            for (at, wanted) in wanted.iter_mut().enumerate() {
                *wanted += bias[at / channel % bias.len()];
            }
        }
        let wanted = rounded(dtype, &wanted);
        for &set in InstructionSet::supported() {
            let own = tensors.clone().map(|tensor| Guarded::new(&encode(dtype, &tensor)));
            let own_bias = Guarded::new(&encode(dtype, &bias));
            let operands = ConvOperands {
                input: own[0].start(),
                weight: own[1].start(),
                output: own[2].start(),
                bias: if bias.is_empty() { std::ptr::null() } else { own_bias.start() },
            };
            let kernel = ConvKernel::in_set(dtype, set).expect("it is a number");
            // SAFETY: the arrays are tensors of these sizes.
            unsafe { kernel.run(pass, shape, &operands) };
            let what = format!("{pass:?} {dtype} {} {shape:?}", set.name());
            assert_same(&decode(dtype, own[position].bytes()), &wanted, &what);
        }
    }
}

#[test]
fn convolutions_of_all_dtypes_are_those_of_a_loop() {
    let one = [1; 3];
    let shapes = [
        shape([2, 1, 3, 5], [1, 6, 7], [1, 3, 3], [one, [0, 1, 1], one]),
        shape([1, 2, 2, 3], [3, 5, 18], [2, 3, 2], [[1, 2, 3], [1, 0, 2], [1, 2, 1]]),
        shape([2, 4, 1, 1], [1, 9, 9], [1, 3, 3], [[1, 2, 2], [0, 1, 1], one]),
    ];
    for shape in shapes {
        DType::ALL.into_iter().filter(|&of| of != DType::Bool).for_each(|of| check(&shape, of));
    }
}

#[test]
fn sizes_that_fill_no_tile_no_vector_and_no_band_are_those_of_a_loop() {
    let (one, none) = ([1; 3], [0; 3]);
    for shape in [
        // One place, one channel.
        shape([1, 1, 1, 1], one, one, [one, none, one]),
        // Several vectors of channels, and tiles of all heights.
        shape([3, 1, 5, 71], [1, 4, 4], one, [one, none, one]),
        shape([1, 1, 17, 23], [1, 3, 50], [1, 2, 3], [one, [0, 1, 1], one]),
        // A long row, which is cut.
        shape([1, 1, 40, 2], [1, 1, 5000], [1, 1, 3], [one, [0, 0, 1], one]),
        // Only the padding is met.
        shape([1, 1, 2, 2], [1, 2, 2], [1, 2, 2], [one, [0, 3, 3], [1, 4, 4]]),
        // Padding, stride and dilation far beyond the input.
        shape(
            [1, 1, 2, 2],
            [1, 4, 4],
            [1, 2, 2],
            [[1, 1 << 40, 1 << 40], [0, 1 << 40, 1 << 40], [1, 1 << 40, 1 << 40]],
        ),
        // No input channels, no samples.
        shape([2, 1, 0, 3], [1, 3, 3], one, [one, none, one]),
        shape([0, 1, 2, 3], [1, 3, 3], one, [one, none, one]),
    ] {
        check(&shape, DType::F32);
        check(&shape, DType::F16);
    }
}

#[test]
fn many_samples_and_large_channels_are_split_between_threads() {
    let one = [1; 3];
    check(&shape([20, 1, 16, 24], [1, 12, 12], [1, 3, 3], [one, [0, 1, 1], one]), DType::F32);
    check(&shape([1, 1, 20, 24], [1, 40, 40], [1, 3, 3], [one, [0, 1, 1], one]), DType::F64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_geometry_is_that_of_a_loop(
        channels in prop::array::uniform4(1..4usize),
        input in prop::array::uniform3(1..7usize),
        kernel in prop::array::uniform3(1..4usize),
        stride in prop::array::uniform3(1..4usize),
        padding in prop::array::uniform3(0..4usize),
        dilation in prop::array::uniform3(1..3usize),
    ) {
        let fits = |dim: usize| input[dim] + 2 * padding[dim] > dilation[dim] * (kernel[dim] - 1);
        prop_assume!((0..3).all(fits));
        check(&shape(channels, input, kernel, [stride, padding, dilation]), DType::F32);
    }
}
