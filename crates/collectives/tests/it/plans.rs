//! Plans are right, and wait for nothing that does not come.

use collectives::{Algorithm, Buffer, Collective, Plan};
use proptest::prelude::*;

use crate::interpreter::{Machine, begins_in_order};

const ALGORITHMS: [Algorithm; 2] = [Algorithm::AtOnce, Algorithm::Direct];

fn collective() -> impl Strategy<Value = Collective> {
    let rank = || 0..17_usize;
    prop_oneof![
        Just(Collective::AllReduce),
        Just(Collective::AllGather),
        Just(Collective::ReduceScatter),
        rank().prop_map(|source| Collective::Broadcast { source }),
        rank().prop_map(|target| Collective::Reduce { target }),
        rank().prop_map(|source| Collective::Scatter { source }),
        rank().prop_map(|target| Collective::Gather { target }),
    ]
}

/// A number that says whose it is.
fn value(rank: usize, place: usize) -> i64 {
    (1 << (2 * rank)) + (place as i64) * (1 << 40)
}

fn check(plan: &Plan, next: impl FnMut(usize) -> usize) {
    let (ranks, elements) = (plan.ranks(), plan.elements());
    let (own, result) = match plan.collective() {
        Collective::ReduceScatter | Collective::Scatter { .. } => (ranks * elements, elements),
        Collective::AllGather | Collective::Gather { .. } => (elements, ranks * elements),
        _ => (elements, 0),
    };
    let tensors: Vec<Vec<i64>> =
        (0..ranks).map(|rank| (0..own).map(|place| value(rank, place)).collect()).collect();
    let sum = |place: usize| (0..ranks).map(|rank| value(rank, place)).sum::<i64>();
    let mut machine = Machine::new(plan, tensors.clone(), result);
    machine.run(plan, next);
    assert!(begins_in_order(plan), "a rank's memory is used before it has begun");
    for rank in 0..ranks {
        let tensor = &machine.memory[&(rank, Buffer::Tensor)];
        let result = &machine.memory[&(rank, Buffer::Result)];
        let joined: Vec<i64> = tensors.concat();
        match plan.collective() {
            Collective::AllReduce => assert!((0..elements).all(|i| tensor[i] == sum(i))),
            Collective::Broadcast { source } => assert_eq!(*tensor, tensors[source % ranks]),
            Collective::Reduce { target } if target % ranks == rank => {
                assert!((0..elements).all(|i| tensor[i] == sum(i)));
            }
            Collective::AllGather => assert_eq!(*result, joined),
            Collective::Gather { target } if target % ranks == rank => assert_eq!(*result, joined),
            Collective::ReduceScatter => {
                assert!((0..elements).all(|i| result[i] == sum(rank * elements + i)));
            }
            Collective::Scatter { source } => {
                let part = rank * elements..(rank + 1) * elements;
                assert_eq!(*result, tensors[source % ranks][part]);
            }
            Collective::Reduce { .. } | Collective::Gather { .. } => {
                assert_eq!(*tensor, tensors[rank], "others keep theirs");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_gives_what_its_operation_is_in_any_order_of_threads(
        collective in collective(),
        algorithm in prop::sample::select(ALGORITHMS.to_vec()),
        ranks in 2..=17_usize,
        elements in 1..200_usize,
        order in prop::collection::vec(any::<usize>(), 1..50),
    ) {
        let plan = Plan::new(collective, algorithm, ranks, elements);
        let mut turns = order.iter().cycle();
        check(&plan, |_| turns.next().copied().unwrap_or(0));
    }
}

#[test]
fn large_tensors_are_cut_into_pieces_that_give_the_same() {
    for algorithm in ALGORITHMS {
        for ranks in [2, 3, 4] {
            for collective in [Collective::AllReduce, Collective::Reduce { target: 1 }] {
                let plan = Plan::new(collective, algorithm, ranks, 70_003 * ranks);
                check(&plan, |able| able - 1);
            }
        }
    }
}

#[test]
fn an_all_reduce_sends_no_more_than_it_must() {
    for ranks in 2..=17 {
        let elements = 16 << 20;
        let plan = Plan::new(Collective::AllReduce, Algorithm::Direct, ranks, elements);
        let least = 2.0 * (ranks - 1) as f64 / ranks as f64 * elements as f64;
        for rank in 0..ranks {
            let most = plan.sent_by(rank).max(plan.received_by(rank)) as f64;
            assert!(most <= 1.02 * least, "{ranks} ranks: {most} of {least}");
        }
    }
}
