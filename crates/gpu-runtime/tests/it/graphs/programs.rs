//! Random programs, parts of which are captured: the result is as if everything ran at once.

use cuda_sim::control::Schedule;
use gpu_runtime::{Device, GraphExec, Result, Stream};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use test_support::isolate;

use crate::fixture::{fill, start};
use crate::machine::{BUFFERS, Machine, STREAMS};

const DEVICES: usize = 2;
const LENGTH: usize = 70;

/// A stream or a buffer: of which device, and which there.
type Place = (usize, usize);

/// One piece of work.
#[derive(Debug, Clone)]
enum Step {
    /// All elements become a value.
    Fill { stream: usize, buffer: Place, value: u32 },
    /// The first buffer of a device is added to the second.
    Add { device: usize, stream: usize, from: usize, to: usize },
    /// A copy between buffers, of one device or of two.
    Copy { stream: Place, from: Place, to: Place },
}

/// A part of a program.
#[derive(Debug, Clone)]
enum Part {
    /// Work that runs.
    Runs(Vec<Step>),
    /// Work that is captured, from a stream, and launched on some.
    Captured { steps: Vec<Step>, from: Place, on: Vec<Place> },
    /// The last graph, with another value in each fill, launched on some streams.
    Updated { by: u32, on: Vec<Place> },
}

fn place(count: usize) -> impl Strategy<Value = Place> {
    (0..DEVICES, 0..count)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..STREAMS, place(BUFFERS), 1u32..100).prop_map(|(stream, buffer, value)| Step::Fill {
            stream,
            buffer,
            value
        }),
        (0..DEVICES, 0..STREAMS, 0..BUFFERS, 0..BUFFERS)
            .prop_map(|(device, stream, from, to)| Step::Add { device, stream, from, to }),
        (place(STREAMS), place(BUFFERS), place(BUFFERS))
            .prop_filter("a copy has two ends", |(_, from, to)| from != to)
            .prop_map(|(stream, from, to)| Step::Copy { stream, from, to }),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let steps = || prop::collection::vec(step(), 1..10);
    let on = || prop::collection::vec(place(STREAMS), 1..4);
    prop_oneof![
        steps().prop_map(Part::Runs),
        (steps(), place(STREAMS), on()).prop_map(|(steps, from, on)| Part::Captured {
            steps,
            from,
            on
        }),
        (1u32..50, on()).prop_map(|(by, on)| Part::Updated { by, on }),
    ]
}

fn enqueue(machines: &mut [Machine], steps: &[Step]) -> Result<()> {
    for step in steps.iter().cloned() {
        match step {
            Step::Fill { stream, buffer: (device, buffer), value } => {
                let Machine { fill: kernel, streams, buffers, .. } = &mut machines[device];
                fill(kernel, &streams[stream], value, &mut buffers[buffer])?;
            }
            Step::Add { device, stream, from, to } => machines[device].add(stream, from, to)?,
            Step::Copy { stream: (on, stream), from, to } => {
                let stream = machines[on].streams[stream].clone();
                copy(machines, &stream, from, to)?;
            }
        }
    }
    Ok(())
}

fn copy(machines: &mut [Machine], stream: &Stream, from: Place, to: Place) -> Result<()> {
    if from.0 == to.0 {
        let buffers = &mut machines[from.0].buffers;
        let [from, to] = buffers.get_disjoint_mut([from.1, to.1]).expect("two buffers");
        return stream.copy_dtod(from, to);
    }
    let [source, target] = machines.get_disjoint_mut([from.0, to.0]).expect("two devices");
    stream.copy_dtod(&source.buffers[from.1], &mut target.buffers[to.1])
}

fn with_other_values(steps: &[Step], by: u32) -> Vec<Step> {
    let mut steps = steps.to_vec();
    for step in &mut steps {
        if let Step::Fill { value, .. } = step {
            *value += by;
        }
    }
    steps
}

fn run(machines: &mut [Machine], parts: &[Part]) -> Result<()> {
    let mut last: Option<(GraphExec, Vec<Step>, Stream)> = None;
    for part in parts {
        let on = match part {
            Part::Runs(steps) => {
                enqueue(machines, steps)?;
                continue;
            }
            Part::Captured { steps, from: (device, stream), on } => {
                let stream = machines[*device].streams[*stream].clone();
                let (graph, ()) = stream.capture(|_| enqueue(machines, steps))?;
                assert_eq!(graph.nodes().len(), steps.len());
                last = Some((graph.instantiate()?, steps.clone(), stream));
                on
            }
            Part::Updated { by, on } => {
                let Some((exec, steps, stream)) = &last else { continue };
                let changed = with_other_values(steps, *by);
                let (graph, ()) = stream.capture(|_| enqueue(machines, &changed))?;
                exec.update(&graph)?;
                on
            }
        };
        let Some((exec, ..)) = &last else { continue };
        on.iter()
            .try_for_each(|&(device, stream)| exec.launch(&machines[device].streams[stream]))?;
    }
    Ok(())
}

type Values = [[u32; BUFFERS]; DEVICES];

fn calculate(values: &mut Values, steps: &[Step]) {
    for step in steps.iter().cloned() {
        match step {
            Step::Fill { buffer, value, .. } => values[buffer.0][buffer.1] = value,
            Step::Add { device, from, to, .. } => {
                values[device][to] = values[device][to].wrapping_add(values[device][from]);
            }
            Step::Copy { from, to, .. } => values[to.0][to.1] = values[from.0][from.1],
        }
    }
}

/// What each buffer holds afterwards, all its elements being equal.
fn expected(parts: &[Part]) -> Values {
    let (mut values, mut last) = (Values::default(), None);
    for part in parts {
        match part {
            Part::Runs(steps) => calculate(&mut values, steps),
            Part::Captured { steps, on, .. } => {
                on.iter().for_each(|_| calculate(&mut values, steps));
                last = Some(steps);
            }
            Part::Updated { by, on } => {
                let Some(steps) = last else { continue };
                let changed = with_other_values(steps, *by);
                on.iter().for_each(|_| calculate(&mut values, &changed));
            }
        }
    }
    values
}

fn check(parts: &[Part]) {
    let devices = Device::all().expect("a driver");
    // Where there is one device only, it has all the machines.
    let mut machines: Vec<_> =
        devices.iter().cycle().take(DEVICES).map(|device| Machine::new(*device, LENGTH)).collect();
    run(&mut machines, parts).expect("the devices work");
    for (machine, expected) in machines.iter().zip(expected(parts)) {
        for (buffer, value) in machine.buffers.iter().zip(expected) {
            assert_eq!(crate::fixture::read(buffer), [value; LENGTH]);
        }
    }
}

/// Tries random programs under the schedules that `schedule` makes of their numbers.
fn try_programs(cases: u32, schedule: impl Fn(u64) -> Schedule) {
    start();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let number = std::cell::Cell::new(0);
    let parts = prop::collection::vec(part(), 1..8);
    let outcome = TestRunner::new(config).run(&parts, |parts| {
        number.set(number.get() + 1);
        crate::fixture::schedule(&schedule(number.get()));
        check(&parts);
        Ok(())
    });
    outcome.expect("the result is as if everything ran at once");
}

#[test]
fn captured_programs_do_what_they_do_uncaptured() {
    isolate(|| try_programs(100, |_| Schedule::Fast)).run();
}

#[test]
fn captured_programs_do_what_they_do_uncaptured_under_adversarial_schedules() {
    isolate(|| try_programs(100, Schedule::Adversarial)).steers_software_driver().run();
}
