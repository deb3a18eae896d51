//! Random programs over several streams and devices: the result is as if everything ran at once.

use gpu_runtime::{Device, Stream};
use proptest::prelude::*;

use crate::fixture::{Gate, fill, start};
use crate::machine::{BUFFERS, Machine, STREAMS};

const DEVICES: usize = 2;
const LENGTH: usize = 300;

/// One step of a program. Streams and buffers are counted per device.
#[derive(Debug, Clone)]
enum Step {
    /// All elements become a value.
    Fill { device: usize, stream: usize, buffer: usize, value: u32 },
    /// The first buffer is added to the second.
    Add { device: usize, stream: usize, from: usize, to: usize },
    /// A copy from the host.
    Load { device: usize, stream: usize, buffer: usize, value: u32 },
    /// A copy between buffers, of one device or of two.
    Copy { stream: (usize, usize), from: (usize, usize), to: (usize, usize) },
    /// What is enqueued on the stream from here on is held back until the end.
    Hold { device: usize, stream: usize },
    /// The work so far becomes what a guard's end makes of it.
    Guard { device: usize, stream: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let (device, stream, buffer) = (0..DEVICES, 0..STREAMS, 0..BUFFERS);
    let place = (device.clone(), stream.clone());
    let memory = (device.clone(), buffer.clone());
    prop_oneof![
        4 => (place.clone(), buffer.clone(), 1u32..100).prop_map(
            |((device, stream), buffer, value)| Step::Fill { device, stream, buffer, value }
        ),
        6 => (place.clone(), buffer.clone(), buffer.clone())
            .prop_map(|((device, stream), from, to)| Step::Add { device, stream, from, to }),
        2 => (place.clone(), buffer, 1u32..100).prop_map(|((device, stream), buffer, value)| {
            Step::Load { device, stream, buffer, value }
        }),
        4 => (place.clone(), memory.clone(), memory)
            .prop_filter("a copy has two ends", |(_, from, to)| from != to)
            .prop_map(|(stream, from, to)| Step::Copy { stream, from, to }),
        1 => place.clone().prop_map(|(device, stream)| Step::Hold { device, stream }),
        1 => place.prop_map(|(device, stream)| Step::Guard { device, stream }),
    ]
}

fn run(machines: &mut [Machine], steps: &[Step]) -> gpu_runtime::Result<Vec<Gate>> {
    let mut gates = Vec::new();
    for step in steps.iter().cloned() {
        match step {
            Step::Fill { device, stream, buffer, value } => {
                let machine = &mut machines[device];
                let stream = &machine.streams[stream];
                fill(&machine.fill, stream, value, &mut machine.buffers[buffer])?;
            }
            Step::Add { device, stream, from, to } => machines[device].add(stream, from, to)?,
            Step::Load { device, stream, buffer, value } => {
                let machine = &mut machines[device];
                let source = [value; LENGTH];
                machine.streams[stream].copy_htod_into(&source, &mut machine.buffers[buffer])?;
            }
            Step::Copy { stream: (on, stream), from, to } => {
                let stream = machines[on].streams[stream].clone();
                copy(machines, &stream, from, to)?;
            }
            Step::Hold { device, stream } => {
                // Two of them are enough to mix everything up.
                if gates.len() < 2 {
                    gates.push(Gate::hold(&machines[device].streams[stream]));
                }
            }
            Step::Guard { device, stream } => drop(machines[device].streams[stream].enter()?),
        }
    }
    Ok(gates)
}

fn copy(
    machines: &mut [Machine],
    stream: &Stream,
    from: (usize, usize),
    to: (usize, usize),
) -> gpu_runtime::Result<()> {
    if from.0 == to.0 {
        let buffers = &mut machines[from.0].buffers;
        let [from, to] = buffers.get_disjoint_mut([from.1, to.1]).expect("two buffers");
        return stream.copy_dtod(from, to);
    }
    let [source, target] = machines.get_disjoint_mut([from.0, to.0]).expect("two devices");
    stream.copy_dtod(&source.buffers[from.1], &mut target.buffers[to.1])
}

/// What each buffer holds afterwards, all its elements being equal.
fn expected(steps: &[Step]) -> [[u32; BUFFERS]; DEVICES] {
    let mut values = [[0u32; BUFFERS]; DEVICES];
    for step in steps.iter().cloned() {
        match step {
            Step::Fill { device, buffer, value, .. } | Step::Load { device, buffer, value, .. } => {
                values[device][buffer] = value;
            }
            Step::Add { device, from, to, .. } => {
                values[device][to] = values[device][to].wrapping_add(values[device][from]);
            }
            Step::Copy { from, to, .. } => values[to.0][to.1] = values[from.0][from.1],
            Step::Hold { .. } | Step::Guard { .. } => {}
        }
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_result_is_as_if_everything_ran_at_once(steps in prop::collection::vec(step(), 1..60)) {
        start();
        if Device::count().expect("a driver") < DEVICES {
            let test = "the_result_is_as_if_everything_ran_at_once";
            test_support::skipped(test, "there are not enough devices");
            return Ok(());
        }
        let devices = Device::all().expect("a driver");
        let mut machines: Vec<_> = devices[..DEVICES].iter().copied().map(|device| Machine::new(device, LENGTH)).collect();
        let gates = run(&mut machines, &steps).expect("the devices work");
        gates.into_iter().for_each(Gate::open);
        for (machine, expected) in machines.iter().zip(expected(&steps)) {
            let reader = Stream::new(machine.device).expect("a stream");
            for (buffer, value) in machine.buffers.iter().zip(expected) {
                let read = reader.copy_dtoh(buffer).expect("a copy").wait().expect("it works");
                let first = read.iter().find(|element| **element != value);
                prop_assert!(first.is_none(), "{first:?} instead of {value} on {reader}");
            }
        }
    }
}
