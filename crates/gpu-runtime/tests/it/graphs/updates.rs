//! Updates: other parameters for an executable graph.

use gpu_runtime::{Error, GraphExec, Result, UpdateProblem};
use test_support::isolate;

use super::{add, captured, increment, stream};
use crate::fixture::{Gate, device, elementwise, fill, pinned, read, zeros};

#[test]
fn an_update_takes_other_memory_and_values_and_the_order_follows() {
    isolate(|| {
        let (main, other) = (stream(), stream());
        let store = elementwise(device(), "fill");
        let (mut x, mut y) = (zeros(device(), 100), zeros(device(), 100));
        let into = pinned(100);
        let first = captured(&main, |_| fill(&store, &main, 1, &mut x));
        let second = captured(&main, |_| fill(&store, &main, 2, &mut y));
        let exec = first.instantiate().expect("it is complete");
        exec.launch(&main).expect("the launch is taken");
        exec.update(&second).expect("it differs in parameters only");
        drop((first, second));
        let gate = Gate::hold(&main);
        exec.launch(&main).expect("the launch is taken");
        let arriving = other.copy_dtoh_pinned(&y, into).expect("the copy is taken");
        assert_eq!(read(&x), [1; 100], "it is not used any more");
        gate.open();
        assert_eq!(*arriving.wait().expect("the device works"), [2; 100]);
    })
    .run();
}

#[test]
fn what_the_driver_does_not_update_is_an_error_that_says_why_and_changes_nothing() {
    isolate(|| {
        let main = stream();
        let (one, sum) = (elementwise(device(), "increment"), elementwise(device(), "add_to"));
        let (mut x, mut y) = (zeros(device(), 100), zeros(device(), 100));
        let graph = captured(&main, |_| {
            increment(&one, &main, &mut x)?;
            increment(&one, &main, &mut x)
        });
        let exec: GraphExec = graph.instantiate().expect("it is complete");
        let longer = captured(&main, |_| (0..3).try_for_each(|_| increment(&one, &main, &mut y)));
        let other = captured(&main, |_| {
            increment(&one, &main, &mut y)?;
            main.copy_dtod(&x, &mut y)
        });
        let refusal = |result: Result<()>| match result {
            Err(Error::GraphUpdate { problem, node }) => (problem, node),
            other => panic!("{other:?}"),
        };
        assert_eq!(refusal(exec.update(&longer)).0, UpdateProblem::Topology);
        let (problem, node) = refusal(exec.update(&other));
        assert_eq!(problem, UpdateProblem::NodeType);
        let node = node.expect("the driver names it");
        assert_eq!(*node, other.nodes()[1]);
        let told = exec.update(&other).expect_err("it differs").to_string();
        assert!(told.contains("copy") && told.contains(file!()), "{told}");
        drop((graph, longer, other));
        exec.launch(&main).expect("the launch is taken");
        assert_eq!((read(&x), read(&y)), (vec![2; 100], vec![0; 100]));
        drop(sum);
    })
    .run();
}

#[test]
fn what_an_update_replaces_is_kept_for_launches_under_way() {
    isolate(|| {
        let (main, sum) = (stream(), elementwise(device(), "add_to"));
        let mut sums = zeros(device(), 1000);
        let capture = |sums: &mut _| {
            let mut input = zeros(device(), 1000);
            fill(&elementwise(device(), "fill"), &main, 1, &mut input)?;
            Ok::<_, Error>(captured(&main, |_| add(&sum, &main, &input, sums)))
        };
        let [first, second] = [(); 2].map(|()| capture(&mut sums).expect("it can be captured"));
        let exec = first.instantiate().expect("it is complete");
        drop(first);
        let gate = Gate::hold(&main);
        exec.launch(&main).expect("the launch is taken");
        exec.update(&second).expect("it differs in parameters only");
        exec.launch(&main).expect("the launch is taken");
        drop((exec, second));
        gate.open();
        assert_eq!(read(&sums), [2; 1000]);
    })
    .run();
}
