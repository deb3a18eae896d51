//! Pooling and resampling of every dtype against plain loops.

use cpu_kernels::InstructionSet;
use cpu_kernels::pooling::{
    PoolBackwardKernel, PoolKernel, PoolMemory, PoolShape, Pooling, WindowAxis, Windows,
};
use cpu_kernels::resample::{ResampleAxis, ResampleKernel, ResampleRule, Resampling};
use expression::DType;

use crate::guarded::Guarded;
use crate::values::{assert_close, assert_same, decode, encode, numbers, rounded};

const AVERAGE: Pooling = Pooling::Average { divisor: None, counts_padding: false };

fn sliding(input: usize, [kernel, stride, padding, dilation]: [usize; 4]) -> WindowAxis {
    let output = (input + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
    WindowAxis { input, output, windows: Windows::Sliding { kernel, stride, padding, dilation } }
}

fn adaptive(input: usize, output: usize) -> WindowAxis {
    WindowAxis { input, output, windows: Windows::Adaptive }
}

/// Narrow and wide rows, windows that overlap, that leave elements out, and that reach outside.
fn shapes() -> Vec<PoolShape> {
    let plain = [1, 1, 0, 1];
    let shape = |axes| PoolShape { planes: 2, axes };
    vec![
        shape([sliding(1, plain), sliding(4, [2, 2, 0, 1]), sliding(34, [2, 2, 0, 1])]),
        shape([sliding(3, [2, 1, 1, 1]), sliding(5, [3, 2, 1, 1]), sliding(21, [3, 1, 1, 1])]),
        shape([sliding(1, plain), sliding(5, [2, 3, 0, 2]), sliding(61, [3, 3, 1, 2])]),
        shape([sliding(1, plain), sliding(3, plain), sliding(33, [3, 2, 1, 1])]),
        shape([adaptive(1, 1), adaptive(5, 3), adaptive(7, 10)]),
    ]
}

/// Whether there are elements between those of a window.
fn has_gaps(shape: &PoolShape) -> bool {
    let has_gaps =
        |axis: &WindowAxis| matches!(axis.windows, Windows::Sliding { dilation: 2.., .. });
    shape.axes.iter().any(has_gaps)
}

/// The places that each window has, in its plane, in order.
fn windows(shape: &PoolShape) -> Vec<Vec<usize>> {
    let [depth, height, width] = shape.axes;
    let mut all = Vec::new();
    for z in 0..depth.output {
        for y in 0..height.output {
            for x in 0..width.output {
                let rows = depth.window(z).flat_map(|z| {
                    height.window(y).map(move |y| (z * height.input + y) * width.input)
                });
                all.push(rows.flat_map(|row| width.window(x).map(move |x| row + x)).collect());
            }
        }
    }
    all
}

fn sizes(shape: &PoolShape) -> [usize; 2] {
    let of = |size: fn(&WindowAxis) -> usize| shape.axes.iter().map(size).product();
    [of(|axis| axis.input), of(|axis| axis.output)]
}

fn pooled(pooling: Pooling, dtype: DType, shape: &PoolShape, x: &[f64]) -> (Vec<f64>, Vec<i64>) {
    let [inputs, _] = sizes(shape);
    let (mut results, mut places) = (Vec::new(), Vec::new());
    for plane in x.chunks(inputs) {
        for window in windows(shape) {
            let best = window
                .iter()
                .rev()
                .copied()
                .reduce(|best, at| if plane[at] >= plane[best] { at } else { best });
            let sum: f64 = window.iter().map(|&at| plane[at]).sum();
            let average = sum / window.len() as f64;
            let average = if dtype.is_float() { average } else { average.trunc() };
            results.push(if pooling == Pooling::Max { plane[best.expect("one")] } else { average });
            places.push(best.expect("no window is empty") as i64);
        }
    }
    (results, places)
}

fn check_pool(pooling: Pooling, dtype: DType, shape: PoolShape) {
    let [inputs, outputs] = sizes(&shape);
    let mut x = rounded(dtype, &numbers(shape.planes * inputs));
    if dtype == DType::U8 {
        x.iter_mut().for_each(|x| *x = (*x).min(8.0));
    }
    let (wanted, chosen) = pooled(pooling, dtype, &shape, &x);
    let count = shape.planes * outputs;
    for &set in InstructionSet::supported() {
        let what = format!("{pooling:?} of {dtype} by {shape:?} with {}", set.name());
        let kernel = PoolKernel::in_set(pooling, dtype, set).expect("it is there");
        let (input, out) =
            (Guarded::new(&encode(dtype, &x)), Guarded::new(&vec![0; count * dtype.size()]));
        let mut places = vec![-1i64; count];
        let is_max = pooling == Pooling::Max;
        let noted = is_max.then_some(places.as_mut_ptr());
        let memory = PoolMemory { out: out.start(), places: noted, input: input.start() };
        // SAFETY: all arrays have as many elements as the shape says.
        unsafe { kernel.run(shape, memory) };
        assert_close(&decode(dtype, out.bytes()), &rounded(dtype, &wanted), 1e-6, &what);
        if is_max {
            assert_eq!(places, chosen, "{what}");
        }
    }
}

#[test]
fn windows_of_every_kind_are_pooled_in_every_dtype() {
    use DType::{BF16, F16, F32, F64, I8, I16, I32, I64, U8};
    for shape in shapes() {
        for dtype in [F64, F32, F16, BF16, I64, I32, I16, I8, U8] {
            check_pool(Pooling::Max, dtype, shape);
        }
        for dtype in [F64, F32, I64] {
            check_pool(AVERAGE, dtype, shape);
        }
    }
    assert!(PoolKernel::new(Pooling::Max, DType::Bool).is_none());
    assert!(PoolKernel::new(AVERAGE, DType::I32).is_none());
    assert!(PoolBackwardKernel::new(Pooling::Max, DType::I64).is_none());
}

#[test]
fn each_element_collects_from_the_windows_that_have_it() {
    for (pooling, dtype) in [(Pooling::Max, DType::F32), (AVERAGE, DType::F64)] {
        // Windows of averages have no gaps.
        let fits = |shape: &PoolShape| pooling == Pooling::Max || !has_gaps(shape);
        for shape in shapes().into_iter().filter(fits) {
            let [inputs, outputs] = sizes(&shape);
            let grad = numbers(shape.planes * outputs);
            let (_, mut places) =
                pooled(Pooling::Max, dtype, &shape, &numbers(shape.planes * inputs));
            let mut wanted = vec![0.0; shape.planes * inputs];
            for (at, (grad, place)) in grad.iter().zip(&places).enumerate() {
                let (plane, window) = (at / outputs * inputs, at % outputs);
                match pooling {
                    Pooling::Max => wanted[plane + *place as usize] += grad,
                    Pooling::Average { .. } => {
                        let window = &windows(&shape)[window];
                        let share = grad / window.len() as f64;
                        window.iter().for_each(|place| wanted[plane + place] += share);
                    }
                }
            }
            for &set in InstructionSet::supported() {
                let kernel = PoolBackwardKernel::in_set(pooling, dtype, set).expect("it is there");
                let input = Guarded::new(&encode(dtype, &grad));
                let out = Guarded::new(&vec![0; wanted.len() * dtype.size()]);
                let noted = (pooling == Pooling::Max).then_some(places.as_mut_ptr());
                let memory = PoolMemory { out: out.start(), places: noted, input: input.start() };
                // SAFETY: all arrays have as many elements as the shape says.
                unsafe { kernel.run(shape, memory) };
                let what = format!("{pooling:?} by {shape:?} with {}", set.name());
                assert_close(&decode(dtype, out.bytes()), &wanted, 1e-6, &what);
            }
        }
    }
}

#[test]
fn results_are_sums_of_parts_and_elements_collect_from_them() {
    let cubic = ResampleRule::Cubic { scale: 0.4, is_aligned: false };
    let linear = ResampleRule::Linear { scale: 2.5, is_aligned: false };
    let axis = |input, output, rule| ResampleAxis { input, output, rule };
    let all = [
        [ResampleAxis::unchanged(2), axis(5, 2, linear), axis(4, 10, cubic)],
        [
            axis(2, 4, ResampleRule::Nearest { scale: 0.5, is_exact: true }),
            axis(3, 6, ResampleRule::Circular { before: 2 }),
            axis(4, 8, ResampleRule::Reflect { before: 3 }),
        ],
    ];
    for axes in all {
        for direction in [Resampling::Forward, Resampling::Backward] {
            check_resample(DType::F64, axes, direction);
            check_resample(DType::F32, axes, direction);
        }
    }
    check_resample(DType::I16, all[1], Resampling::Forward);
    assert!(ResampleKernel::new(DType::Bool, Resampling::Forward).is_none());
    assert!(ResampleKernel::new(DType::I32, Resampling::Backward).is_none());
}

fn check_resample(dtype: DType, axes: [ResampleAxis; 3], direction: Resampling) {
    let inputs = axes.map(|axis| axis.input);
    let outputs = axes.map(|axis| axis.output);
    let place = |sizes: [usize; 3], at: [usize; 3]| (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
    let [elements, results] = [inputs, outputs].map(|sizes| sizes.iter().product::<usize>());
    let (from, to) = match direction {
        Resampling::Forward => (elements, results),
        Resampling::Backward => (results, elements),
    };
    let x = numbers(from);
    let mut wanted = vec![0.0; to];
    for z in 0..outputs[0] {
        for y in 0..outputs[1] {
            for x_at in 0..outputs[2] {
                axes[0].parts(z, |from_z, weight_z| {
                    axes[1].parts(y, |from_y, weight_y| {
                        axes[2].parts(x_at, |from_x, weight_x| {
                            let element = place(inputs, [from_z, from_y, from_x]);
                            let result = place(outputs, [z, y, x_at]);
                            let weight = weight_z * weight_y * weight_x;
                            match direction {
                                Resampling::Forward => wanted[result] += weight * x[element],
                                Resampling::Backward => wanted[element] += weight * x[result],
                            }
                        });
                    });
                });
            }
        }
    }
    for &set in InstructionSet::supported() {
        let kernel = ResampleKernel::in_set(dtype, direction, set).expect("it is there");
        let input = Guarded::new(&encode(dtype, &x));
        let out = Guarded::new(&vec![0; to * dtype.size()]);
        // SAFETY: the arrays have as many elements as the axes say.
        unsafe { kernel.run(1, axes, input.start(), out.start()) };
        let what = format!("{direction:?} of {dtype} by {axes:?} with {}", set.name());
        assert_close(&decode(dtype, out.bytes()), &wanted, 1e-5, &what);
    }
}

#[test]
fn a_zero_keeps_its_sign() {
    let one = ResampleAxis::unchanged(1);
    let rule = ResampleRule::Replicate { before: 1 };
    let kernel = ResampleKernel::new(DType::F32, Resampling::Forward).expect("it is there");
    let (x, mut out) = ([-0.0f32], [1.0f32; 2]);
    let axes = [one, one, ResampleAxis { input: 1, output: 2, rule }];
    // SAFETY: the arrays have one and two elements.
    unsafe { kernel.run(1, axes, x.as_ptr().cast(), out.as_mut_ptr().cast()) };
    assert_same(&out.map(|x| f64::from(x.signum())), &[-1.0; 2], "signs");
}
