//! Operations called from another pool of threads than the CPU kernels' own.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tensor::{Tensor, no_grad, set_num_threads};
use test_support::isolate;

use crate::watchdog::ends;

/// Elements that are split between threads.
const LARGE: usize = 1 << 20;

/// A pool of the program's own, beside kernels that are split between two threads.
fn foreign_pool() -> ThreadPool {
    set_num_threads(2).expect("nothing has run yet");
    ThreadPoolBuilder::new().num_threads(2).build().expect("a pool")
}

#[test]
fn operations_inside_of_another_pool_do_not_wait_for_themselves() {
    isolate(|| {
        ends(|| {
            let pool = foreign_pool();
            let total = Tensor::zeros([LARGE], ()).expect("made");
            let one = Tensor::ones([LARGE], ()).expect("made");
            pool.install(|| {
                (0..64).into_par_iter().for_each(|_| {
                    total.add_(&one).expect("added");
                });
            });
            assert_eq!(total.select(0, 0).expect("one").item::<f32>().expect("its value"), 64.0);
            assert_eq!(total.mean(()).expect("all").item::<f32>().expect("its value"), 64.0);
        });
    })
    .run();
}

#[test]
fn nobodys_closure_runs_under_anothers_no_grad() {
    isolate(|| {
        ends(|| {
            let pool = foreign_pool();
            let w = Tensor::ones([LARGE], ()).expect("made").requires_grad_(true).expect("a leaf");
            pool.install(|| {
                (0..64).into_par_iter().for_each(|item| match item % 2 {
                    0 => drop(no_grad(|| w.exp()).expect("computed")),
                    _ => assert!(w.mul(2.0).expect("computed").requires_grad()),
                });
            });
        });
    })
    .run();
}

#[test]
fn no_item_of_another_pool_begins_while_an_operation_of_its_thread_runs() {
    isolate(|| {
        ends(|| {
            thread_local! {
                static WITHIN: AtomicUsize = const { AtomicUsize::new(0) };
            }
            let pool = foreign_pool();
            let x = Tensor::ones([LARGE], ()).expect("made");
            let square = Tensor::ones([160, 160], ()).expect("made");
            let operations: [&(dyn Fn() -> tensor::Result<Tensor> + Sync); 4] = [
                &|| x.exp(),                // split
                &|| x.sum(()),              // chunks that are joined in order
                &|| square.matmul(&square), // split by gemm
                &|| square.softmax(1),      // rows
            ];
            pool.install(|| {
                (0..128).into_par_iter().for_each(|item| {
                    let before = WITHIN.with(|within| within.fetch_add(1, Ordering::Relaxed));
                    assert_eq!(before, 0, "another item's operation is below on this stack");
                    operations[item % operations.len()]().expect("computed");
                    WITHIN.with(|within| within.fetch_sub(1, Ordering::Relaxed));
                });
            });
        });
    })
    .run();
}

#[test]
fn operations_inside_of_another_pool_give_what_they_give_elsewhere() {
    isolate(|| {
        ends(|| {
            let pool = foreign_pool();
            let x = Tensor::randn([300, 300], ()).expect("made");
            let compute = || {
                let product = x.matmul(&x).expect("computed");
                let sum = x.exp().and_then(|x| x.sum(())).expect("computed");
                (product.to_vec::<f32>().expect("values"), sum.item::<f32>().expect("its value"))
            };
            assert_eq!(pool.install(compute), compute());
        });
    })
    .run();
}
