//! What threads share in `gpu-runtime`, `gpu-alloc`, `cpu-kernels` and `tensor`, compiled with locks and atomics that try every
//! order in which threads can come to them: the files of the module `shared` there, what policies lend
//! here, and models around them. Each test is run once for each such order, with at most three threads
//! that are stopped where they could have gone on.

#![cfg(test)]

#[path = "../../../crates/tensor/src/shared/blocks.rs"]
mod blocks;
#[path = "../../../crates/tensor/src/shared/counted.rs"]
mod counted;
#[path = "../../../crates/gpu-runtime/src/shared/edges.rs"]
mod edges;
#[path = "../../../crates/gpu-runtime/src/shared/event_history.rs"]
mod event_history;
#[path = "../../../crates/gpu-runtime/src/shared/gate.rs"]
mod gate;
#[path = "../../../crates/gpu-runtime/src/shared/hold.rs"]
mod hold;
#[path = "../../../crates/gpu-runtime/src/shared/idle.rs"]
mod idle;
#[path = "../../../crates/gpu-runtime/src/shared/newest.rs"]
mod newest;
#[path = "../../../crates/cpu-kernels/src/shared/offer.rs"]
mod offer;
#[path = "../../../crates/tensor/src/shared/owners.rs"]
mod owners;
#[path = "../../../crates/gpu-runtime/src/shared/recent.rs"]
mod recent;
#[path = "../../../crates/cpu-kernels/src/shared/sleeper.rs"]
mod sleeper;
#[path = "../../../crates/gpu-runtime/src/shared/words.rs"]
mod words;

mod events;
mod handles;
mod notes;
mod offers;
mod pools;
mod queue;
mod records;
mod snapshots;
mod stream_caches;
mod streams;
mod sync;

use test_support::isolate;

/// Runs a test in every order.
///
/// Each in a process of its own: a test's threads get stacks from the system and give them back,
/// thousands of times, and two tests of one process that do so spend more time waiting for its memory
/// map than at work.
fn in_every_order(test: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.max_branches = 20_000;
    isolate(test).run_by(|test| model.check(test));
}
