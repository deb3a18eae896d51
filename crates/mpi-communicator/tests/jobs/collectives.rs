//! Values of collective operations: every dtype, every kind of device, the same bits on all ranks.

use collectives::ReduceOp;
use gpu_runtime::{DriverChoice, choose_driver};
use tensor::{DType, Device, Result, Tensor, cuda, with_manual_seed};

use crate::ranks::ranks;

const OPS: [ReduceOp; 5] =
    [ReduceOp::Sum, ReduceOp::Avg, ReduceOp::Product, ReduceOp::Min, ReduceOp::Max];

fn devices() -> Result<[Device; 2]> {
    choose_driver(DriverChoice::Software { devices: Some(1) })?;
    Ok([Device::Cpu, Device::cuda_at(0)])
}

/// Small numbers, which each dtype has: other ones on each rank.
fn numbers(rank: usize, shape: &[usize], to: (DType, Device)) -> Result<Tensor> {
    let numel: usize = shape.iter().product();
    let numbers: Vec<i64> = (0..numel).map(|i| ((i + rank) % 3) as i64).collect();
    Tensor::from_vec(numbers, shape, ())?.to(to)
}

fn floats(rank: usize, to: (DType, Device)) -> Result<Tensor> {
    with_manual_seed(rank as u64, || Tensor::randn([1000], DType::F64))?.to(to)
}

fn doubles(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.to((DType::F64, Device::Cpu))?.to_vec::<f64>()
}

/// The reduction by plain numbers.
fn expected(op: ReduceOp, dtype: DType, all: &[Vec<f64>]) -> Vec<f64> {
    let combine = |a: f64, b: f64| match op {
        ReduceOp::Product => a * b,
        ReduceOp::Min => a.min(b),
        ReduceOp::Max => a.max(b),
        // "Or", of truth values.
        _ if dtype == DType::Bool => a.max(b),
        _ => a + b,
    };
    let divisor = if op == ReduceOp::Avg { all.len() as f64 } else { 1.0 };
    let element = |i: usize| all.iter().map(|rank| rank[i]).reduce(combine).map(|x| x / divisor);
    (0..all[0].len()).filter_map(element).collect()
}

#[test]
fn all_reduce_combines_the_tensors_of_all_ranks() {
    ranks(3, |communicator| {
        for (device, dtype) in devices()?.into_iter().flat_map(|d| DType::ALL.map(|t| (d, t))) {
            for shape in [&[0][..], &[], &[2], &[7, 5]] {
                for op in OPS {
                    let tensor = numbers(communicator.rank(), shape, (dtype, device))?;
                    let result = communicator.all_reduce(&tensor, op);
                    if op == ReduceOp::Avg && !dtype.is_float() {
                        let error = result.expect_err("integers have no mean").to_string();
                        assert!(error.contains("all_reduce: not available for"), "{error}");
                        continue;
                    }
                    result?;
                    let rank = |rank| doubles(&numbers(rank, shape, (dtype, Device::Cpu))?);
                    let all = (0..3).map(rank).collect::<Result<Vec<_>>>()?;
                    let exact = expected(op, dtype, &all);
                    let exact = Tensor::from_vec(exact, tensor.shape(), ())?.to(dtype)?;
                    assert_eq!(doubles(&tensor)?, doubles(&exact)?, "{op:?} {dtype} {device}");
                }
            }
        }
        Ok(())
    });
}

#[test]
fn all_ranks_have_the_same_bits_which_come_of_the_order_of_the_ranks() {
    ranks(4, |communicator| {
        for device in devices()? {
            for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
                let tensor = floats(communicator.rank(), (dtype, device))?;
                let all = communicator.all_gather(&tensor)?;
                communicator.all_reduce(&tensor, ReduceOp::Sum)?;

                let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
                let mut sum = all.select(0, 0)?.to(wide)?;
                for rank in 1..4 {
                    sum = sum.add(&all.select(0, rank)?.to(wide)?)?;
                }
                let sum = doubles(&sum.to(dtype)?)?;
                let results = doubles(&communicator.all_gather(&tensor)?)?;
                assert!(results.chunks_exact(1000).all(|row| row == sum), "{dtype} on {device}");
            }
        }
        Ok(())
    });
}

#[test]
fn broadcast_copies_the_tensor_of_one_rank() {
    ranks(4, |communicator| {
        for (device, dtype) in devices()?.into_iter().flat_map(|d| DType::ALL.map(|t| (d, t))) {
            for (shape, source) in [(&[0][..], 0), (&[], 1), (&[2], 2), (&[7, 5], 3)] {
                let tensor = numbers(communicator.rank(), shape, (dtype, device))?;
                communicator.broadcast(&tensor, source)?;
                let exact = numbers(source, shape, (dtype, Device::Cpu))?;
                assert_eq!(doubles(&tensor)?, doubles(&exact)?, "{dtype} on {device}");
            }
        }
        let error = communicator.broadcast(&Tensor::ones([2], ())?, 4).expect_err("no such rank");
        assert_eq!(error.to_string(), "broadcast: there is no rank 4 in a group of 4");
        Ok(())
    });
}

#[test]
fn all_gather_gives_the_tensors_in_the_order_of_the_ranks() {
    ranks(3, |communicator| {
        for (device, dtype) in devices()?.into_iter().flat_map(|d| DType::ALL.map(|t| (d, t))) {
            for shape in [&[0][..], &[], &[7, 5]] {
                let tensor = numbers(communicator.rank(), shape, (dtype, device))?;
                let gathered = communicator.all_gather(&tensor)?;
                assert_eq!(gathered.shape(), [&[3], shape].concat());
                assert_eq!((gathered.dtype(), gathered.device()), (dtype, device));
                let rank = |rank| doubles(&numbers(rank, shape, (dtype, Device::Cpu))?);
                let all = (0..3).map(rank).collect::<Result<Vec<_>>>()?;
                assert_eq!(doubles(&gathered)?, all.concat(), "{dtype} on {device}");
            }
        }
        Ok(())
    });
}

#[test]
fn large_tensors_are_sent_in_several_messages() {
    ranks(2, |communicator| {
        let numel = 5_000_000;
        let numbers = |rank| Tensor::arange(rank..rank + numel, DType::I32);
        let tensor = numbers(communicator.rank() as i64)?;
        communicator.all_reduce(&tensor, ReduceOp::Sum)?;
        assert!(tensor.equal(&numbers(0)?.add(&numbers(1)?)?)?);

        let tensor = numbers(communicator.rank() as i64)?;
        let rows = communicator.all_gather(&tensor)?;
        communicator.broadcast(&tensor, 1)?;
        assert!(tensor.equal(&numbers(1)?)? && rows.select(0, 1)?.equal(&tensor)?);
        assert!(rows.select(0, 0)?.equal(&numbers(0)?)?);
        Ok(())
    });
}

#[test]
fn views_and_parameters_are_exchanged_where_they_lie() {
    ranks(2, |communicator| {
        let rank = communicator.rank();
        for device in devices()? {
            let base = numbers(rank, &[4, 6], (DType::F32, device))?;
            let column = base.select(1, 2)?;
            communicator.all_reduce(&column, ReduceOp::Sum)?;
            let exact = |rank| numbers(rank, &[4, 6], (DType::F32, device));
            let sum = exact(0)?.add(&exact(1)?)?;
            assert_eq!(doubles(&base.select(1, 2)?)?, doubles(&sum.select(1, 2)?)?);
            assert_eq!(doubles(&base.select(1, 3)?)?, doubles(&exact(rank)?.select(1, 3)?)?);

            let parameter = exact(rank)?.requires_grad_(true)?;
            communicator.broadcast(&parameter, 1)?;
            assert_eq!(doubles(&parameter.detach())?, doubles(&exact(1)?)?);
            assert!(parameter.requires_grad());
        }
        Ok(())
    });
}

#[test]
fn an_operation_comes_after_earlier_work_on_its_tensor_and_before_later_work() {
    ranks(2, |communicator| {
        let [_, device] = devices()?;
        let stream = cuda::Stream::new(device)?;
        for _ in 0..20 {
            let tensor = Tensor::zeros([1000], device)?;
            {
                let _other = stream.enter()?;
                tensor.add_(communicator.rank() as f64 + 1.0)?;
            }
            communicator.all_reduce(&tensor, ReduceOp::Sum)?;
            {
                let _other = stream.enter()?;
                tensor.mul_(2.0)?;
            }
            communicator.broadcast(&tensor, 1)?;
            let _other = stream.enter()?;
            assert!(tensor.eq(6.0)?.all(())?.item::<bool>()?);
        }
        Ok(())
    });
}

#[test]
fn operations_that_differ_between_ranks_are_errors_everywhere_and_the_next_one_works() {
    ranks(3, |communicator| {
        let rank = communicator.rank();
        let tensor = Tensor::ones([2 + rank / 2], ())?;
        let error = communicator.all_reduce(&tensor, ReduceOp::Sum).expect_err("they differ");
        let text = error.to_string();
        assert!(text.contains("rank 2") && text.contains("float32 [3]"), "{text}");
        let error = match rank {
            0 => communicator.barrier(),
            _ => communicator.broadcast(&tensor, 0),
        };
        let text = error.expect_err("they differ").to_string();
        assert!(text.contains("barrier") && text.contains("broadcast from 0 of"), "{text}");

        let tensor = Tensor::ones([2], ())?;
        communicator.all_reduce(&tensor, ReduceOp::Sum)?;
        assert_eq!(tensor.to_vec::<f32>()?, [3.0, 3.0]);
        Ok(())
    });
}

#[test]
fn one_rank_is_a_group_by_itself() {
    ranks(1, |communicator| {
        assert_eq!((communicator.rank(), communicator.size()), (0, 1));
        let tensor = floats(0, (DType::F16, Device::Cpu))?;
        let before = doubles(&tensor)?;
        for op in OPS {
            communicator.all_reduce(&tensor, op)?;
        }
        communicator.broadcast(&tensor, 0)?;
        communicator.barrier()?;
        assert_eq!(doubles(&communicator.all_gather(&tensor)?)?, before);
        let again = mpi_communicator::MpiCommunicator::init().expect_err("once in a process");
        assert!(again.to_string().contains("initialised before"), "{again}");
        Ok(())
    });
}
