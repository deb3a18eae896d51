//! The CPU and CUDA agree: random operations on random shapes, strides and dtypes.

use proptest::prelude::*;
use tensor::{DType, Device, Result, Scalar, Tensor, keepdim};

use crate::devices::cuda_devices;

type Unary = fn(&Tensor) -> Result<Tensor>;
type Binary = fn(&Tensor, &Tensor) -> Result<Tensor>;

const UNARY: &[(&str, Unary)] = &[
    ("neg", Tensor::neg),
    ("square", Tensor::square),
    ("relu", Tensor::relu),
    ("exp", Tensor::exp),
    ("tanh", Tensor::tanh),
    ("round", Tensor::round),
    ("contiguous", Tensor::contiguous),
    ("logical_not", Tensor::logical_not),
    ("to_f64", |x| x.to(DType::F64)),
    ("to_u8", |x| x.abs()?.to(DType::U8)),
    ("sum", |x| x.sum(())),
    ("mean of the first", |x| x.to(DType::F64)?.mean(keepdim(0))),
    ("sum of the last", |x| x.sum(-1)),
    ("amax of the first", |x| x.amax(0)),
    ("argmin of the last", |x| x.argmin(-1)),
    ("any", |x| x.any(())),
    ("softmax of the first", |x| x.to(DType::F32)?.softmax(0)),
    ("log_softmax of the last", |x| x.to(DType::F32)?.log_softmax(-1)),
    ("x^T x", |x| x.transpose(0, 1)?.matmul(x)),
];

const BINARY: &[(&str, Binary)] = &[
    ("add", |a, b| a.add(b)),
    ("mul", |a, b| a.mul(b)),
    ("div", |a, b| a.div(b)),
    ("remainder", |a, b| a.remainder(b)),
    ("floor_divide", |a, b| a.floor_divide(b)),
    ("maximum", |a, b| a.maximum(b)),
    ("lt", |a, b| a.lt(b)),
    ("logical_xor", |a, b| a.logical_xor(b)),
    ("where", |a, b| Tensor::where_cond(&a.gt(0)?, a, b)),
    ("cat", |a, b| Tensor::cat([a, &b.expand(a.shape())?], 0)),
];

/// How an operand is cut from dense memory.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Dense,
    Transposed,
    EverySecond,
    RepeatedRow,
}

/// A matrix of small whole numbers, of which some are negative and some zero; every dtype has them
/// exactly, but for the sign.
fn operand(
    dtype: DType,
    layout: Layout,
    [rows, cols]: [usize; 2],
    seed: i64,
    device: Device,
) -> Result<Tensor> {
    let numbers = |shape: [usize; 2]| -> Result<Tensor> {
        let count = (shape[0] * shape[1]) as i64;
        let mixed = (0..count).map(|i| (i * 7919 + seed * 104729).rem_euclid(11) - 5).collect();
        let x = Tensor::from_vec(mixed, shape, device)?;
        if dtype == DType::U8 { x.abs()?.to(dtype) } else { x.to(dtype) }
    };
    match layout {
        Layout::Dense => numbers([rows, cols]),
        Layout::Transposed => numbers([cols, rows])?.t(),
        Layout::EverySecond => numbers([rows, 2 * cols])?.slice(1, 1, 2 * cols as isize, 2),
        Layout::RepeatedRow => numbers([1, cols])?.expand([rows, cols]),
    }
}

/// Both results or both errors; numbers within a few units in the last place.
fn assert_agree(what: &str, cpu: Result<Tensor>, cuda: Result<Tensor>) -> Result<()> {
    let (cpu, cuda) = match (cpu, cuda) {
        (Ok(cpu), Ok(cuda)) => (cpu, cuda),
        (cpu, cuda) => {
            assert!(cpu.is_err() && cuda.is_err(), "{what}: {cpu:?} and {cuda:?}");
            return Ok(());
        }
    };
    assert_eq!((cpu.dtype(), cpu.shape()), (cuda.dtype(), cuda.shape()), "{what}");
    let numbers = |x: &Tensor| x.to(DType::F64)?.to_vec::<f64>();
    let tolerance = if cpu.dtype() == DType::F16 { 2e-3 } else { 2e-6 };
    for (a, b) in numbers(&cpu)?.into_iter().zip(numbers(&cuda)?) {
        let close =
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * (1.0 + a.abs());
        assert!(close, "{what}: {a} on the CPU, {b} on CUDA");
    }
    Ok(())
}

fn layouts() -> impl Strategy<Value = Layout> {
    prop_oneof![
        Just(Layout::Dense),
        Just(Layout::Transposed),
        Just(Layout::EverySecond),
        Just(Layout::RepeatedRow),
    ]
}

fn dtypes() -> impl Strategy<Value = DType> {
    (0..DType::ALL.len()).prop_map(|index| DType::ALL[index])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn functions_of_one_tensor_agree(
        which in 0..UNARY.len(), dtype in dtypes(), layout in layouts(),
        rows in 1usize..6, cols in 1usize..40, seed in 0i64..100,
    ) {
        let (name, function) = UNARY[which];
        let run = |device| operand(dtype, layout, [rows, cols], seed, device).and_then(|x| function(&x));
        let what = format!("{name} of {dtype} {layout:?} [{rows}, {cols}]");
        assert_agree(&what, run(Device::Cpu), run(cuda_devices()[0])).expect(&what);
    }

    #[test]
    fn functions_of_two_tensors_agree(
        which in 0..BINARY.len(), dtypes in (dtypes(), dtypes()), layouts in (layouts(), layouts()),
        rows in 1usize..6, cols in 1usize..40, broadcast in any::<bool>(), seed in 0i64..100,
    ) {
        let (name, function) = BINARY[which];
        let run = |device| {
            let a = operand(dtypes.0, layouts.0, [rows, cols], seed, device)?;
            let b = operand(dtypes.1, layouts.1, [if broadcast { 1 } else { rows }, cols], seed + 1, device)?;
            function(&a, &b)
        };
        let what = format!("{name} of {dtypes:?} {layouts:?} [{rows}, {cols}] {broadcast}");
        assert_agree(&what, run(Device::Cpu), run(cuda_devices()[0])).expect(&what);
    }

    #[test]
    fn operations_in_place_agree(
        dtype in dtypes(), rows in 1usize..6, cols in 1usize..40, number in -3i64..4, seed in 0i64..100,
    ) {
        let run = |device| {
            let x = operand(dtype, Layout::Transposed, [rows, cols], seed, device)?.clone_data()?;
            let part = x.slice(1, 0, cols as isize, 2)?;
            part.mul_(Scalar::Int(number))?;
            part.add_scaled_(&part, number)?;
            x.select(0, 0)?.copy_(&x.select(0, rows as isize - 1)?)?;
            Ok(x)
        };
        assert_agree(&format!("{dtype} {rows} {cols} {number}"), run(Device::Cpu), run(cuda_devices()[0])).expect("in place");
    }
}
