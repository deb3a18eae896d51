//! The edges of graphs: what must come after what does, and what need not does not.

use cuda_sim::control::Schedule;
use gpu_runtime::{GraphExec, Order, Result, with_order};
use test_support::isolate;

use super::{add, captured, stream};
use crate::fixture::{device, elementwise, fill, read, schedule, zeros};

/// A graph on three streams: what is filled on one is added on another, and filled anew on the third.
fn diamond(order: Order) -> Result<[Vec<u32>; 2]> {
    let [main, left, right] = [(); 3].map(|()| stream());
    let (store, sum) = (elementwise(device(), "fill"), elementwise(device(), "add_to"));
    let [mut x, mut y, mut z] = [(); 3].map(|()| zeros(device(), 100));
    let (graph, ()) = with_order(order, || {
        main.capture(|_| {
            if order == Order::Manual {
                left.wait_stream(&main)?;
                right.wait_stream(&main)?;
            }
            fill(&store, &left, 5, &mut x)?;
            add(&sum, &right, &x, &mut y)?;
            fill(&store, &left, 7, &mut x)?;
            add(&sum, &main, &x, &mut z)?;
            if order == Order::Manual {
                main.wait_stream(&left)?;
                main.wait_stream(&right)?;
            }
            Ok(())
        })
    })?;
    let exec: GraphExec = graph.instantiate()?;
    exec.launch(&main)?;
    exec.launch(&right)?;
    Ok([read(&y), read(&z)])
}

#[test]
fn order_by_default_becomes_edges_between_the_streams() {
    isolate(|| {
        for seed in 0..100 {
            schedule(&Schedule::Adversarial(seed));
            let [y, z] = diamond(Order::Automatic).expect("it works");
            assert_eq!((y, z), (vec![10; 100], vec![14; 100]), "under seed {seed}");
        }
    })
    .run();
}

#[test]
fn without_it_these_schedules_find_the_race() {
    isolate(|| {
        let wrong = (0..100).filter(|seed| {
            schedule(&Schedule::Adversarial(*seed));
            diamond(Order::Manual).expect("a race is no error") != [[10; 100], [14; 100]]
        });
        assert_ne!(wrong.count(), 0);
    })
    .env("GPU_DRIVER", "software:1")
    .run();
}

#[test]
fn what_is_captured_by_default_comes_after_all_writes_captured_in_manual_order() {
    isolate(|| {
        let [main, left, right] = [(); 3].map(|()| stream());
        let (store, sum) = (elementwise(device(), "fill"), elementwise(device(), "add_to"));
        let [mut x, mut y] = [(); 2].map(|()| zeros(device(), 100));
        let graph = captured(&main, |_| {
            with_order(Order::Manual, || {
                left.wait_stream(&main)?;
                right.wait_stream(&main)?;
                fill(&store, &left, 5, &mut x)?;
                fill(&store, &right, 7, &mut x)
            })?;
            add(&sum, &main, &x, &mut y)
        });
        assert_eq!(graph.edges().expect("the driver tells"), [(0, 2), (1, 2)]);
    })
    .run();
}

#[test]
fn captures_of_two_threads_keep_their_uses_of_one_memory_apart() {
    isolate(|| {
        let [main, side, other] = [(); 3].map(|()| stream());
        let (store, sum) = (elementwise(device(), "fill"), elementwise(device(), "add_to"));
        let [mut x, mut y, mut z] = [(); 3].map(|()| zeros(device(), 100));
        let graph = captured(&main, |_| {
            fill(&store, &main, 5, &mut x)?;
            std::thread::scope(|scope| {
                let theirs = scope.spawn(|| captured(&other, |_| add(&sum, &other, &x, &mut z)));
                assert_eq!(theirs.join().expect("no panic").edges()?, []);
                Ok::<_, gpu_runtime::Error>(())
            })?;
            add(&sum, &side, &x, &mut y)
        });
        assert_eq!(graph.edges().expect("the driver tells"), [(0, 1)]);
    })
    .run();
}

#[test]
fn work_that_needs_not_wait_has_no_edge() {
    isolate(|| {
        let [main, side] = [(); 2].map(|()| stream());
        let store = elementwise(device(), "fill");
        let [mut x, mut y] = [(); 2].map(|()| zeros(device(), 100));
        let graph = captured(&main, |_| {
            (0..5).try_for_each(|value| {
                fill(&store, &main, value, &mut x)?;
                fill(&store, &side, value, &mut y)
            })
        });
        // Nodes of a stream come after each other, and the two streams have nothing in common.
        let edges = graph.edges().expect("the driver tells");
        let expected: Vec<_> = (0..8).map(|node| (node, node + 2)).collect();
        assert_eq!(edges, expected);
    })
    .run();
}

#[test]
fn an_edge_leads_from_the_very_work_that_must_come_first() {
    isolate(|| {
        let [main, side] = [(); 2].map(|()| stream());
        let (store, sum) = (elementwise(device(), "fill"), elementwise(device(), "add_to"));
        let [mut x, mut y, mut z] = [(); 3].map(|()| zeros(device(), 100));
        let graph = captured(&main, |_| {
            fill(&store, &main, 1, &mut x)?;
            fill(&store, &main, 2, &mut y)?;
            // After the first fill, and not after the second.
            add(&sum, &side, &x, &mut z)
        });
        assert_eq!(graph.edges().expect("the driver tells"), [(0, 1), (0, 2)]);
    })
    .run();
}
