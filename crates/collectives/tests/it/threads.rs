//! Groups whose ranks are threads.

use std::sync::Barrier;
use std::thread;

use collectives::{Communicator, DeviceCommunicator, DeviceGroup, ReduceOp};
use tensor::{DType, Device, Result, Tensor, cuda};
use test_support::isolate;

use crate::devices;

/// Runs `f` in a thread for each rank, and gives what each returned.
pub(crate) fn in_threads<R: Send>(
    group: &DeviceGroup,
    f: impl Fn(&DeviceCommunicator) -> Result<R> + Sync,
) -> Vec<Result<R>> {
    let ranks = group.communicators().expect("nobody has one");
    thread::scope(|scope| {
        let f = &f;
        let threads: Vec<_> = ranks.into_iter().map(|rank| scope.spawn(move || f(&rank))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn own(rank: &DeviceCommunicator, elements: usize, dtype: DType) -> Result<Tensor> {
    let numbers: Vec<f32> =
        (0..elements).map(|place| ((place + 3 * rank.rank()) % 7) as f32).collect();
    Tensor::from_vec(numbers, [elements], rank.device())?.to(dtype)
}

#[test]
fn all_reduce_gives_each_rank_the_sum_of_all() -> Result<()> {
    for count in [1, 2, 3, 4, 8] {
        let group = DeviceGroup::new(devices(count))?;
        for elements in [1, 5, 1000, 100_003] {
            for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::U8] {
                let results = in_threads(&group, |rank| {
                    let x = own(rank, elements, dtype)?;
                    rank.all_reduce(&x, ReduceOp::Sum)?;
                    x.to(DType::F32)?.to_vec::<f32>()
                });
                let sum =
                    |place: usize| (0..count).map(|rank| ((place + 3 * rank) % 7) as f32).sum();
                let expected: Vec<f32> = (0..elements).map(sum).collect();
                for result in results {
                    assert!(result? == expected, "{count} ranks, {elements} elements, {dtype}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_broadcast_gives_each_rank_the_sources_tensor() -> Result<()> {
    for count in [1, 2, 3, 8] {
        let group = DeviceGroup::new(devices(count))?;
        for elements in [3, 100_003] {
            let source = count - 1;
            let results = in_threads(&group, |rank| {
                let x = own(rank, elements, DType::F32)?;
                rank.broadcast(&x, source)?;
                x.to_vec::<f32>()
            });
            let expected: Vec<f32> =
                (0..elements).map(|place| ((place + 3 * source) % 7) as f32).collect();
            for result in results {
                assert!(result? == expected, "{count} ranks, {elements} elements");
            }
        }
    }
    Ok(())
}

#[test]
fn scratch_memory_is_kept_until_somebody_asks_for_it_or_the_ranks_have_left() {
    isolate(|| {
        let group = DeviceGroup::new(devices(2)).expect("a group");
        let in_use = || cuda::memory_allocated(Device::cuda_at(1)).expect("it has a device");
        let all_reduce = |rank: &DeviceCommunicator| {
            rank.all_reduce(&own(rank, 100_000, DType::F32)?, ReduceOp::Sum)?;
            Ok(in_use())
        };
        let before = in_use();
        let kept = in_threads(&group, all_reduce).pop().expect("two ranks").expect("it works");
        assert!(kept >= before + 4 * 50_000);
        assert_eq!(in_use(), before, "the communicators are dropped");
        let tensors: Vec<Tensor> = group
            .devices()
            .iter()
            .map(|&device| Tensor::ones([100_000], device).expect("memory"))
            .collect();
        let before = in_use();
        group.all_reduce(&tensors, ReduceOp::Sum).expect("it works");
        assert!(in_use() >= before + 4 * 50_000);
        group.release_memory();
        assert_eq!(in_use(), before);
    })
    .run();
}

#[test]
fn a_rank_that_aborts_ends_the_others_and_a_restart_makes_the_group_whole() -> Result<()> {
    let group = DeviceGroup::new(devices(3))?;
    let results = in_threads(&group, |rank| {
        let x = own(rank, 1000, DType::F32)?;
        match rank.rank() {
            1 => {
                rank.abort("the batch is bad");
                Ok(())
            }
            _ => rank.all_reduce(&x, ReduceOp::Sum),
        }
    });
    for (rank, result) in results.into_iter().enumerate().filter(|(rank, _)| *rank != 1) {
        let text = result.expect_err("rank 1 aborts").to_string();
        assert!(text.contains("rank 1 on cuda:1") && text.contains("bad"), "rank {rank}: {text}");
    }
    group.restart()?;
    let sums = in_threads(&group, |rank| {
        let x = Tensor::ones([4], rank.device())?;
        rank.all_reduce(&x, ReduceOp::Sum)?;
        rank.barrier()?;
        x.to_vec::<f32>()
    });
    for sum in sums {
        assert_eq!(sum?, [3.0; 4]);
    }
    Ok(())
}

#[test]
fn a_rank_that_calls_with_something_wrong_ends_the_operation_of_the_others() -> Result<()> {
    let group = DeviceGroup::new(devices(3))?;
    let have_returned = Barrier::new(3);
    let results = in_threads(&group, |rank| {
        let device = if rank.rank() == 1 { Device::Cpu } else { rank.device() };
        let done = rank.all_reduce(&Tensor::ones([4], device)?, ReduceOp::Sum);
        // Not because one has left.
        have_returned.wait();
        done
    });
    for result in results {
        let text = result.expect_err("rank 1 cannot").to_string();
        assert!(text.contains("rank 1 on cuda:1") && text.contains("cpu"), "{text}");
    }
    Ok(())
}

#[test]
fn a_rank_that_leaves_ends_the_operations_that_it_has_not_called() -> Result<()> {
    let group = DeviceGroup::new(devices(3))?;
    let results = in_threads(&group, |rank| {
        let x = Tensor::ones([1000], rank.device())?;
        rank.all_reduce(&x, ReduceOp::Sum)?;
        if rank.rank() == 2 { Ok(()) } else { rank.all_reduce(&x, ReduceOp::Sum) }
    });
    let [first, second, third] = results.try_into().expect("three");
    assert!(third.is_ok());
    for result in [first, second] {
        let text = result.expect_err("rank 2 has left").to_string();
        assert!(text.contains("rank 2 on cuda:2") && text.contains("left"), "{text}");
    }
    Ok(())
}

#[test]
fn ranks_that_call_different_things_get_errors_that_say_so() -> Result<()> {
    let group = DeviceGroup::new(devices(2))?;
    let results = in_threads(&group, |rank| {
        let x = Tensor::ones([3 + rank.rank()], rank.device())?;
        rank.all_reduce(&x, ReduceOp::Sum)
    });
    let texts: Vec<String> =
        results.into_iter().map(|result| result.expect_err("shapes differ").to_string()).collect();
    assert!(texts.iter().all(|text| text.contains("[3]") && text.contains("[4]")), "{texts:?}");
    Ok(())
}
