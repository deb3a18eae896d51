//! The operations give what `torch.distributed` gives; `tests/expected/collectives.py` has asked it.

use collectives::{Communicator, DeviceCommunicator, DeviceGroup, ReduceOp};
use tensor::{Result, Tensor};

use crate::devices;
use crate::threads::in_threads;

const EXPECTED: &str = include_str!("../expected/collectives.txt");

const RANKS: usize = 4;
const ELEMENTS: usize = 8;

/// What PyTorch has for an operation on a rank; nothing where it has nothing.
fn expected(operation: &str, rank: usize) -> Option<Vec<f32>> {
    let line = EXPECTED.lines().find_map(|line| {
        line.strip_prefix(operation)?.strip_prefix(' ')?.strip_prefix(&format!("{rank} "))
    })?;
    Some(line.split(' ').map(|number| number.parse().expect("a number")).collect())
}

fn own(rank: &DeviceCommunicator) -> Result<Tensor> {
    let factor = (rank.rank() + 1) as f32;
    let numbers: Vec<f32> =
        (0..ELEMENTS).map(|place| factor * ((place + 1) as f32).sqrt() / 3.0).collect();
    Tensor::from_vec(numbers, [ELEMENTS], rank.device())
}

/// Runs an operation of which each rank gives its numbers, or nothing, and compares them.
fn check(
    group: &DeviceGroup,
    operation: &str,
    run: impl Fn(&DeviceCommunicator, &Tensor) -> Result<Option<Tensor>> + Sync,
) {
    let results = in_threads(group, |rank| {
        let given = run(rank, &own(rank)?)?;
        given.map(|tensor| tensor.flatten()?.to_vec::<f32>()).transpose()
    });
    for (rank, found) in results.into_iter().enumerate() {
        let (found, expected) = (found.expect("it works"), expected(operation, rank));
        let (Some(found), Some(expected)) = (&found, &expected) else {
            assert_eq!(found, expected, "{operation} on rank {rank}");
            continue;
        };
        assert_eq!(found.len(), expected.len(), "{operation} on rank {rank}");
        for (found, expected) in found.iter().zip(expected) {
            let is_close = (found - expected).abs() <= 1e-6 * expected.abs();
            assert!(is_close, "{operation} on rank {rank}: {found} is not {expected}");
        }
    }
}

#[test]
fn each_operation_gives_what_pytorchs_gives() -> Result<()> {
    let group = DeviceGroup::new(devices(RANKS))?;
    let ops = [
        ("all_reduce_sum", ReduceOp::Sum),
        ("all_reduce_product", ReduceOp::Product),
        ("all_reduce_min", ReduceOp::Min),
        ("all_reduce_max", ReduceOp::Max),
    ];
    for (name, op) in ops {
        check(&group, name, |rank, x| rank.all_reduce(x, op).map(|()| Some(x.clone())));
    }
    check(&group, "broadcast", |rank, x| rank.broadcast(x, 2).map(|()| Some(x.clone())));
    check(&group, "reduce", |rank, x| {
        rank.reduce(x, 1, ReduceOp::Sum)?;
        Ok((rank.rank() == 1).then(|| x.clone()))
    });
    check(&group, "all_gather", |rank, x| rank.all_gather(x).map(Some));
    check(&group, "reduce_scatter", |rank, x| {
        rank.reduce_scatter(&x.view([RANKS, ELEMENTS / RANKS])?, ReduceOp::Sum).map(Some)
    });
    check(&group, "scatter", |rank, x| {
        let part = Tensor::zeros([ELEMENTS / RANKS], rank.device())?;
        let entries = x.view([RANKS, ELEMENTS / RANKS])?;
        rank.scatter(&part, (rank.rank() == 3).then_some(&entries), 3)?;
        Ok(Some(part))
    });
    check(&group, "gather", |rank, x| rank.gather(x, 2));
    Ok(())
}
