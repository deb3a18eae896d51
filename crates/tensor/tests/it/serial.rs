//! Random programs of two threads: what they see is what one of the serial orders shows.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use tensor::{DType, Error, ReadGuard, Result, Tensor};
use test_support::isolate;

use crate::devices::cuda_devices;

/// Two tensors of the heap, one in page-locked memory, and one on a device.
const TENSORS: usize = 4;

/// Three operations of each of two threads can come in 20 orders.
const STEPS: usize = 3;

/// What a step of a program does, with tensors by their number.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A copy from one to another one, wherever they are.
    Copy(usize, usize),
    /// A change in place, of a view.
    Double(usize),
    /// A guard that is kept to the end.
    Keep(usize),
    /// The elements as they are.
    Look(usize),
}

impl Step {
    fn drawn(random: &mut u64) -> Step {
        let mut draw = |below: u64| {
            *random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((*random >> 33) % below) as usize
        };
        let on_host = TENSORS as u64 - 1;
        match draw(5) {
            0 | 1 => {
                let target = draw(TENSORS as u64);
                Step::Copy(target, (target + 1 + draw(on_host)) % TENSORS)
            }
            2 => Step::Double(draw(TENSORS as u64)),
            3 => Step::Keep(draw(on_host)),
            _ => Step::Look(draw(TENSORS as u64)),
        }
    }

    /// What the thread sees of it: elements, or whether it was refused.
    fn run(self, tensors: &[Tensor], kept: &mut Vec<ReadGuard<i64>>) -> Vec<i64> {
        let done = |result: Result<Tensor>| match result {
            Ok(_) => vec![],
            Err(Error::GuardHeld { .. }) => vec![-1],
            Err(error) => panic!("{self:?}: {error}"),
        };
        match self {
            Step::Copy(target, source) => done(tensors[target].copy_(&tensors[source])),
            Step::Double(target) => {
                let view = tensors[target].narrow(0, 1, 2).expect("it has four");
                done(view.mul_(2))
            }
            Step::Keep(source) => {
                let guard = tensors[source].read::<i64>().expect("it is on the host");
                let seen = guard.to_vec();
                kept.push(guard);
                seen
            }
            Step::Look(source) => tensors[source].to_vec().expect("values"),
        }
    }
}

/// What a run shows: what each thread saw, and how it ended.
type Outcome = ([Vec<Vec<i64>>; 2], Vec<Vec<i64>>);

fn tensors() -> Vec<Tensor> {
    let devices = cuda_devices();
    let made = (0..TENSORS).map(|number| {
        let tensor = Tensor::full([4], number as i64 + 1, DType::I64)?;
        match number {
            2 => tensor.pin_memory(),
            3 => tensor.to(devices[0]),
            _ => Ok(tensor),
        }
    });
    made.collect::<Result<_>>().expect("made")
}

fn ended(tensors: &[Tensor]) -> Vec<Vec<i64>> {
    tensors.iter().map(|tensor| tensor.to_vec().expect("values")).collect()
}

/// The steps in one order: bit `i` says whose turn step `i` is.
fn serially(program: &[Vec<Step>; 2], order: u32) -> Outcome {
    let tensors = tensors();
    let mut seen = [vec![], vec![]];
    let mut kept = vec![];
    let mut next = [0, 0];
    for turn in 0..2 * STEPS {
        let who = ((order >> turn) & 1) as usize;
        seen[who].push(program[who][next[who]].run(&tensors, &mut kept));
        next[who] += 1;
    }
    (seen, ended(&tensors))
}

fn at_once(program: &[Vec<Step>; 2]) -> Outcome {
    let (tensors, begin, end) = (tensors(), Barrier::new(2), Barrier::new(2));
    let seen = thread::scope(|scope| {
        let threads = program.each_ref().map(|steps| {
            scope.spawn(|| {
                let mut kept = vec![];
                begin.wait();
                let seen: Vec<_> = steps.iter().map(|step| step.run(&tensors, &mut kept)).collect();
                // Guards of either live as long as the other one writes.
                end.wait();
                let all = steps.iter().zip(&seen).filter(|(step, _)| matches!(step, Step::Keep(_)));
                for ((_, seen), guard) in all.zip(&kept) {
                    assert_eq!(seen[..], guard[..], "a snapshot has changed");
                }
                seen
            })
        });
        threads.map(|thread| thread.join().expect("no panic"))
    });
    (seen, ended(&tensors))
}

/// Without checks of races: those do not know which of two threads was first on one stream.
#[test]
fn what_two_threads_see_is_what_some_serial_order_shows() {
    isolate(|| {
        let mut random = 17;
        for number in 0..300 {
            let program = [(); 2].map(|()| (0..STEPS).map(|_| Step::drawn(&mut random)).collect());
            let orders =
                (0..1 << (2 * STEPS)).filter(|order: &u32| order.count_ones() == STEPS as u32);
            let possible: BTreeSet<_> = orders.map(|order| serially(&program, order)).collect();
            let outcome = at_once(&program);
            assert!(possible.contains(&outcome), "program {number}, {program:?}: {outcome:?}");
        }
    })
    .env("GPU_DRIVER", "software:2")
    .run();
}
