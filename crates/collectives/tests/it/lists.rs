//! Operations that one thread calls for all ranks, against what they are by definition.

use collectives::{DeviceGroup, ReduceOp};
use tensor::{CudaView, DType, Device, Result, Tensor};

use crate::devices;

const DTYPES: [DType; 8] =
    [DType::F32, DType::F64, DType::F16, DType::BF16, DType::U8, DType::I8, DType::I32, DType::I64];

/// Numbers that each dtype has, and whose sums over eight ranks it has too.
fn number(rank: usize, place: usize) -> f64 {
    ((place * 5 + rank * 3) % 4 + 1) as f64
}

fn tensor(rank: usize, shape: &[usize], dtype: DType, device: Device) -> Result<Tensor> {
    let elements = shape.iter().product();
    let numbers: Vec<f64> = (0..elements).map(|place| number(rank, place)).collect();
    Tensor::from_vec(numbers, shape, device)?.to(dtype)
}

fn tensors(group: &DeviceGroup, shape: &[usize], dtype: DType) -> Result<Vec<Tensor>> {
    let devices = group.devices().iter().enumerate();
    devices.map(|(rank, &device)| tensor(rank, shape, dtype, device)).collect()
}

fn values(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.to(DType::F64)?.to_vec::<f64>()
}

/// The combination of all ranks' numbers, in the order of ranks.
fn combined(op: ReduceOp, ranks: usize, place: usize) -> f64 {
    let numbers = (0..ranks).map(|rank| number(rank, place));
    match op {
        ReduceOp::Sum => numbers.sum(),
        ReduceOp::Avg => numbers.sum::<f64>() / ranks as f64,
        ReduceOp::Product => numbers.product::<f64>(),
        ReduceOp::Min => numbers.fold(f64::INFINITY, f64::min),
        _ => numbers.fold(f64::NEG_INFINITY, f64::max),
    }
}

#[test]
fn every_operation_is_what_its_definition_says_for_each_dtype() -> Result<()> {
    for count in [1, 2, 3, 8] {
        let group = DeviceGroup::new(devices(count))?;
        for dtype in DTYPES {
            for op in [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max, ReduceOp::Avg] {
                if op == ReduceOp::Avg && !dtype.is_float() {
                    continue;
                }
                let all = tensors(&group, &[count, 5], dtype)?;
                group.all_reduce(&all, op)?;
                let reduced = group.reduce(&tensors(&group, &[5], dtype)?, count - 1, op)?;
                let parts = group.reduce_scatter(&tensors(&group, &[count, 5], dtype)?, op)?;
                let round = |value: f64| {
                    let exact = Tensor::full([1], value, (DType::F64, Device::Cpu))?;
                    Ok::<f64, tensor::Error>(values(&exact.to(dtype)?)?[0])
                };
                for rank in 0..count {
                    let found = values(&all[rank])?;
                    for (place, found) in found.into_iter().enumerate() {
                        assert_eq!(found, round(combined(op, count, place))?, "{dtype} {op:?}");
                    }
                    for (place, found) in values(&parts[rank])?.into_iter().enumerate() {
                        let expected = combined(op, count, rank * 5 + place);
                        assert_eq!(found, round(expected)?, "{dtype} {op:?}");
                    }
                }
                for (place, found) in values(&reduced)?.into_iter().enumerate() {
                    assert_eq!(found, round(combined(op, count, place))?, "{dtype} {op:?}");
                }
            }
            let all = tensors(&group, &[3], dtype)?;
            let joined: Vec<f64> = all.iter().map(values).collect::<Result<Vec<_>>>()?.concat();
            for gathered in group.all_gather(&all)? {
                assert_eq!(values(&gathered)?, joined);
            }
            let gathered = group.gather(&all, count - 1)?;
            assert_eq!(values(&gathered)?, joined);
            for (part, one) in group.scatter(&gathered)?.iter().zip(&all) {
                assert_eq!((values(part)?, part.device()), (values(one)?, one.device()));
            }
            for copy in group.broadcast(&all[count / 2])? {
                assert_eq!(values(&copy)?, values(&all[count / 2])?);
            }
        }
    }
    Ok(())
}

#[test]
fn a_tensor_whose_elements_lie_apart_is_reduced_in_its_place() -> Result<()> {
    let group = DeviceGroup::new(devices(2))?;
    let wholes = tensors(&group, &[4, 3], DType::F32)?;
    let before = wholes.iter().map(values).collect::<Result<Vec<_>>>()?;
    let columns = wholes.iter().map(|whole| whole.select(1, 1)).collect::<Result<Vec<_>>>()?;
    group.all_reduce(&columns, ReduceOp::Sum)?;
    for (rank, whole) in wholes.iter().enumerate() {
        for (place, found) in values(whole)?.into_iter().enumerate() {
            let is_in_column = place % 3 == 1;
            let expected = match is_in_column {
                true => before[0][place] + before[1][place],
                false => before[rank][place],
            };
            assert_eq!(found, expected);
        }
    }
    Ok(())
}

#[test]
fn what_is_only_read_is_not_stale_for_gradients() -> Result<()> {
    let group = DeviceGroup::new(devices(2))?;
    let x = Tensor::ones([2, 2], Device::cuda_at(0))?.requires_grad_(true)?;
    let y = Tensor::ones([2, 2], Device::cuda_at(1))?;
    let loss = x.square()?.sum(())?;
    group.all_gather(&[x.detach(), y.clone()])?;
    group.scatter(&x)?;
    group.broadcast(&x)?;
    group.reduce(&[x.detach(), y], 1, ReduceOp::Sum)?;
    loss.backward()?;
    assert_eq!(x.grad().expect("it was computed").to_vec::<f32>()?, [2.0; 4]);
    Ok(())
}

#[test]
fn an_operation_comes_after_earlier_work_on_other_streams_and_before_later_work() -> Result<()> {
    let group = DeviceGroup::new(devices(2))?;
    let side = tensor::cuda::Stream::new(Device::cuda_at(1))?;
    let x = Tensor::ones([100_000], Device::cuda_at(0))?;
    let y = Tensor::ones([100_000], Device::cuda_at(1))?;
    for round in 1..20 {
        {
            let _in = side.enter()?;
            y.fill_(round as f64)?;
        }
        x.fill_(1.0)?;
        group.all_reduce(&[x.clone(), y.clone()], ReduceOp::Sum)?;
        let _in = side.enter()?;
        let sum = &y + 0.0;
        assert_eq!(sum?.to_vec::<f32>()?, vec![1.0 + round as f32; 100_000]);
        assert_eq!(x.to_vec::<f32>()?, vec![1.0 + round as f32; 100_000]);
    }
    Ok(())
}

#[test]
fn what_cannot_be_done_is_an_error_that_says_why() -> Result<()> {
    let devices = devices(2);
    let group = DeviceGroup::new(&devices)?;
    let [x, y] = [0, 1].map(|index| Tensor::ones([2], Device::cuda_at(index)));
    let (x, y) = (x?, y?);
    let ints = [x.to(DType::I32)?, y.to(DType::I32)?];
    let texts = [
        group
            .all_reduce(std::slice::from_ref(&x), ReduceOp::Sum)
            .expect_err("one is missing")
            .to_string(),
        group.all_reduce(&[y.clone(), x.clone()], ReduceOp::Sum).expect_err("swapped").to_string(),
        group.all_reduce(&ints, ReduceOp::Avg).expect_err("of integers").to_string(),
        group.reduce(&[x.clone(), y.clone()], 7, ReduceOp::Sum).expect_err("no rank").to_string(),
        group.broadcast(&Tensor::ones([2], Device::Cpu)?).expect_err("elsewhere").to_string(),
        group.scatter(&Tensor::ones([3], devices[0])?).expect_err("three").to_string(),
    ];
    let said = ["1 tensors for 2", "cuda:1, not on cuda:0", "int32", "rank 7", "cpu", "each rank"];
    for (text, said) in texts.iter().zip(said) {
        assert!(text.contains(said), "{text}");
    }
    let problems = [vec![], vec![devices[0]; 2], vec![devices[0], Device::Cpu]];
    for devices in problems {
        assert!(DeviceGroup::new(devices).is_err());
    }
    // All is well afterwards.
    group.all_reduce(&[x.clone(), y], ReduceOp::Sum)?;
    assert_eq!(x.to_vec::<f32>()?, [2.0; 2]);
    Ok(())
}

#[test]
fn the_cpu_is_a_group_by_itself() -> Result<()> {
    let group = DeviceGroup::new([Device::Cpu])?;
    let x = Tensor::ones([3], Device::Cpu)?;
    group.all_reduce(std::slice::from_ref(&x), ReduceOp::Avg)?;
    assert_eq!(group.all_gather(std::slice::from_ref(&x))?[0].to_vec::<f32>()?, [1.0; 3]);
    assert_eq!(group.reduce(&[x], 0, ReduceOp::Sum)?.to_vec::<f32>()?, [1.0; 3]);
    Ok(())
}

#[test]
fn a_copy_on_a_stream_needs_ends_that_fit_and_a_stream_of_one_of_them() -> Result<()> {
    devices(3);
    let tensor = |index: usize, elements: usize| Tensor::ones([elements], Device::cuda_at(index));
    let streams = [0, 1, 2].map(|index| tensor::cuda::Stream::new(Device::cuda_at(index)));
    let [first, second, third] = streams;
    let (first, second, third) = (first?, second?, third?);
    let (x, y) = (tensor(0, 4)?, Tensor::zeros([4], Device::cuda_at(1))?);
    CudaView::enqueue_copy(&second, y.cuda_write()?, x.cuda_read()?)?;
    assert_eq!(y.to_vec::<f32>()?, [1.0; 4]);
    let apart = x.view([2, 2])?.t()?;
    let problems = [
        (CudaView::enqueue_copy(&first, y.cuda_write()?, tensor(0, 3)?.cuda_read()?), "3 elements"),
        (CudaView::enqueue_copy(&first, y.cuda_write()?, apart.cuda_read()?), "contiguous"),
        (CudaView::enqueue_copy(&third, y.cuda_write()?, x.cuda_read()?), "cuda:2"),
        (CudaView::enqueue_copy(&first, y.to(DType::I32)?.cuda_write()?, x.cuda_read()?), "int32"),
    ];
    for (result, said) in problems {
        let text = result.expect_err("it does not fit").to_string();
        assert!(text.contains(said), "{text}");
    }
    Ok(())
}
