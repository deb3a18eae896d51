//! Plans are right, and wait for nothing that does not come.

use collectives::{Algorithm, Collective, CollectivePlan, RankBuffer, RankStep};
use proptest::prelude::*;

use crate::interpreter::{PlanMachine, begins_in_order};

/// An operation of so many ranks, and their number.
fn collective(ranks: impl Strategy<Value = usize>) -> impl Strategy<Value = (Collective, usize)> {
    (0..7, ranks, any::<prop::sample::Index>()).prop_map(|(kind, ranks, rank)| {
        let rank = rank.index(ranks.max(1));
        let collective = match kind {
            0 => Collective::AllReduce,
            1 => Collective::AllGather,
            2 => Collective::ReduceScatter,
            3 => Collective::Broadcast { source: rank },
            4 => Collective::Reduce { target: rank },
            5 => Collective::Scatter { source: rank },
            _ => Collective::Gather { target: rank },
        };
        (collective, ranks)
    })
}

fn plan(
    collective: Collective,
    algorithm: Algorithm,
    (ranks, elements): (usize, usize),
    pieces: usize,
) -> CollectivePlan {
    CollectivePlan::new(collective, algorithm, ranks, elements, pieces)
        .expect("sizes that there are")
}

/// A number that says whose it is.
fn value(rank: usize, place: usize) -> i64 {
    (1 << (2 * rank)) + (place as i64) * (1 << 40)
}

fn check(plan: &CollectivePlan, next: impl FnMut(usize) -> usize) {
    let (ranks, elements) = (plan.ranks(), plan.elements());
    let (own, result) = match plan.collective() {
        Collective::ReduceScatter | Collective::Scatter { .. } => (ranks * elements, elements),
        Collective::AllGather | Collective::Gather { .. } => (elements, ranks * elements),
        _ => (elements, 0),
    };
    let tensors: Vec<Vec<i64>> =
        (0..ranks).map(|rank| (0..own).map(|place| value(rank, place)).collect()).collect();
    let sum = |place: usize| (0..ranks).map(|rank| value(rank, place)).sum::<i64>();
    let mut machine = PlanMachine::new(plan, tensors.clone(), result);
    machine.run(plan, next);
    assert!(begins_in_order(plan), "a rank's memory is used before it has begun");
    for rank in 0..ranks {
        let tensor = &machine.memory[&(rank, RankBuffer::Tensor)];
        let result = &machine.memory[&(rank, RankBuffer::Result)];
        let joined: Vec<i64> = tensors.concat();
        match plan.collective() {
            Collective::AllReduce => assert!((0..elements).all(|i| tensor[i] == sum(i))),
            Collective::Broadcast { source } => assert_eq!(*tensor, tensors[source]),
            Collective::Reduce { target } if target == rank => {
                assert!((0..elements).all(|i| tensor[i] == sum(i)));
            }
            Collective::AllGather => assert_eq!(*result, joined),
            Collective::Gather { target } if target == rank => assert_eq!(*result, joined),
            Collective::ReduceScatter => {
                assert!((0..elements).all(|i| result[i] == sum(rank * elements + i)));
            }
            Collective::Scatter { source } => {
                let part = rank * elements..(rank + 1) * elements;
                assert_eq!(*result, tensors[source][part]);
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
        (collective, ranks) in collective(2..=17_usize),
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        elements in 1..200_usize,
        pieces in 1..5_usize,
        order in prop::collection::vec(any::<usize>(), 1..50),
    ) {
        let plan = plan(collective, algorithm, (ranks, elements), pieces);
        let mut turns = order.iter().cycle();
        check(&plan, |_| turns.next().copied().unwrap_or(0));
    }
}

#[test]
fn parts_of_vectors_give_the_same_in_pieces() {
    for (algorithm, pieces) in Algorithm::ALL.into_iter().zip([2, 2, 2, 2, 4, 1]) {
        for ranks in [2, 3, 4] {
            for collective in [Collective::AllReduce, Collective::Reduce { target: 1 }] {
                check(&plan(collective, algorithm, (ranks, 8_233 * ranks), pieces), |able| {
                    able - 1
                });
            }
        }
    }
}

#[test]
fn an_all_reduce_sends_no_more_than_it_must() {
    for ranks in 2..=17 {
        for algorithm in [Algorithm::Direct, Algorithm::Halving, Algorithm::Ring] {
            let elements = 16 << 20;
            let plan = plan(Collective::AllReduce, algorithm, (ranks, elements), 2);
            let least = 2.0 * (ranks - 1) as f64 / ranks as f64 * elements as f64;
            for rank in 0..ranks {
                let most = plan.sent_by(rank).max(plan.received_by(rank)) as f64;
                assert!(most <= 1.02 * least, "{ranks} ranks, {algorithm:?}: {most} of {least}");
            }
        }
    }
}

/// Numbers at which something overflows, or is not there.
fn absurd() -> impl Strategy<Value = usize> {
    let near = |place: usize| (0..3_usize).prop_map(move |less| place - less);
    prop_oneof![
        0..3_usize,
        near(usize::MAX),
        near(isize::MAX as usize),
        near(isize::MAX as usize / 7),
        near(1 << 32),
        any::<usize>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn sizes_that_no_memory_has_give_an_error_or_a_plan_whose_places_are_within(
        (collective, ranks) in collective(prop_oneof![0..20_usize, absurd()]),
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        elements in absurd(),
        pieces in absurd(),
    ) {
        let Ok(plan) = CollectivePlan::new(collective, algorithm, ranks, elements, pieces) else {
            let is_absurd = ranks == 0 || ranks > CollectivePlan::MAX_RANKS;
            prop_assert!(is_absurd || elements > isize::MAX as usize / ranks);
            return Ok(());
        };
        let most = isize::MAX as usize;
        for rank in 0..ranks {
            prop_assert!(plan.scratch(rank) <= most);
            let copies = plan.steps(rank).iter().filter_map(|step| match step {
                RankStep::Copy { from, to_rank, to, .. } => Some((from, *to_rank, to)),
                _ => None,
            });
            for (from, to_rank, to) in copies {
                prop_assert_eq!(from.len(), to.len());
                prop_assert!(from.range.end <= most && to.range.end <= most);
                if to.buffer == RankBuffer::Scratch {
                    prop_assert!(to.range.end <= plan.scratch(to_rank));
                }
            }
        }
    }
}

#[test]
fn a_plan_of_many_ranks_uses_few_links_where_their_number_is_a_power_of_two() {
    let plan = plan(Collective::AllReduce, Algorithm::Halving, (64, 1 << 20), 2);
    assert_eq!(plan.links().count(), 64 * 6);
    assert!(plan.links().all(|(from, to)| (from ^ to).is_power_of_two()));
}

#[test]
fn a_rank_that_is_none_of_the_group_is_named() {
    let collective = Collective::Broadcast { source: 3 };
    let error = CollectivePlan::new(collective, Algorithm::Tree, 3, 5, 1).expect_err("no rank 3");
    assert!(error.to_string().contains("rank 3 of a group with 3"), "{error}");
}
