//! Orders of nodes that keep to their dependencies.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The numbers of all nodes, each after those that it depends on, and otherwise the smallest first.
/// `dependencies` says for each node which ones those are.
///
/// # Errors
/// A node on a cycle, or after one.
pub(super) fn topological(dependencies: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    let mut dependents = vec![Vec::new(); dependencies.len()];
    let mut missing: Vec<usize> = dependencies.iter().map(Vec::len).collect();
    for (node, earlier) in dependencies.iter().enumerate() {
        earlier.iter().for_each(|&earlier| dependents[earlier].push(node));
    }
    let free = missing.iter().enumerate().filter(|(_, missing)| **missing == 0);
    let mut ready: BinaryHeap<_> = free.map(|(node, _)| Reverse(node)).collect();
    let mut order = Vec::with_capacity(dependencies.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for &later in &dependents[node] {
            missing[later] -= 1;
            if missing[later] == 0 {
                ready.push(Reverse(later));
            }
        }
    }
    match missing.iter().position(|&missing| missing > 0) {
        Some(node) => Err(node),
        None => Ok(order),
    }
}

/// Marks the nodes that are among `of` or come before one of them.
pub(super) fn with_ancestors(
    of: impl IntoIterator<Item = usize>,
    count: usize,
    dependencies: impl Fn(usize) -> Vec<usize>,
) -> Vec<bool> {
    let mut found = vec![false; count];
    let mut todo: Vec<usize> = of.into_iter().collect();
    while let Some(node) = todo.pop() {
        if !std::mem::replace(&mut found[node], true) {
            todo.extend(dependencies(node));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn graphs() -> impl Strategy<Value = Vec<Vec<usize>>> {
        // A node may depend on any other one, so that some graphs have cycles.
        (1..12_usize).prop_flat_map(|count| {
            let earlier = prop::collection::btree_set(0..count, 0..3.min(count + 1));
            prop::collection::vec(earlier.prop_map(|set| set.into_iter().collect()), count)
        })
    }

    proptest! {
        #[test]
        fn every_node_comes_once_and_after_its_dependencies(dependencies in graphs()) {
            let Ok(order) = topological(&dependencies) else { return Ok(()) };
            prop_assert_eq!(order.len(), dependencies.len());
            let mut done = vec![false; order.len()];
            for node in order {
                prop_assert!(dependencies[node].iter().all(|&earlier| done[earlier]));
                prop_assert!(!std::mem::replace(&mut done[node], true));
            }
        }

        #[test]
        fn what_has_no_order_has_a_cycle_before_the_node_that_is_named(dependencies in graphs()) {
            let Err(node) = topological(&dependencies) else { return Ok(()) };
            let before = with_ancestors([node], dependencies.len(), |node| dependencies[node].clone());
            let on_a_cycle = |start: usize| {
                let earlier = dependencies[start].iter().copied();
                with_ancestors(earlier, dependencies.len(), |node| dependencies[node].clone())[start]
            };
            prop_assert!((0..dependencies.len()).any(|other| before[other] && on_a_cycle(other)));
        }
    }
}
