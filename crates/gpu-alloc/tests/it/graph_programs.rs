//! Random programs that allocate, use and drop memory, parts of which are captured: what is held at
//! the end is what it would be if everything ran at once.

use cuda_sim::control::{Schedule, set_schedule};
use gpu_alloc::{DeviceMemory, allocate, empty_cache, memory_allocated, memory_reserved};
use gpu_runtime::{Device, GraphExec, RaceChecker, Stream};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use test_support::isolate;

use crate::device_support::{copy, devices, fill, read};

const SLOTS: usize = 4;
const STREAMS: usize = 3;
const SIZES: [usize; 3] = [600, 1000, 1 << 20];

#[derive(Debug, Clone)]
enum Step {
    /// New memory in a slot, allocated for one stream and filled on another.
    New {
        slot: usize,
        home: usize,
        stream: usize,
        size: usize,
        byte: u8,
    },
    Fill {
        slot: usize,
        stream: usize,
        byte: u8,
    },
    /// A copy between slots, of as much as both have.
    Copy {
        from: usize,
        to: usize,
        stream: usize,
    },
    Drop {
        slot: usize,
    },
}

#[derive(Debug, Clone)]
enum Part {
    Runs(Vec<Step>),
    Captured {
        steps: Vec<Step>,
        on: Vec<usize>,
    },
    /// An earlier graph is launched again, if it is still there.
    Again {
        which: prop::sample::Index,
        on: usize,
    },
    Forget {
        which: prop::sample::Index,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (slot, stream, byte) = (0..SLOTS, 0..STREAMS, any::<u8>());
    prop_oneof![
        3 => (slot.clone(), stream.clone(), stream.clone(), 0..SIZES.len(), byte)
            .prop_map(|(slot, home, stream, size, byte)| {
                Step::New { slot, home, stream, size: SIZES[size], byte }
            }),
        2 => (slot.clone(), stream.clone(), byte)
            .prop_map(|(slot, stream, byte)| Step::Fill { slot, stream, byte }),
        4 => (slot.clone(), slot.clone(), stream)
            .prop_map(|(from, to, stream)| Step::Copy { from, to, stream }),
        2 => slot.prop_map(|slot| Step::Drop { slot }),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let steps = || prop::collection::vec(step(), 1..12);
    let which = any::<prop::sample::Index>;
    prop_oneof![
        2 => steps().prop_map(Part::Runs),
        3 => (steps(), prop::collection::vec(0..STREAMS, 1..3))
            .prop_map(|(steps, on)| Part::Captured { steps, on }),
        1 => (which(), 0..STREAMS).prop_map(|(which, on)| Part::Again { which, on }),
        1 => which().prop_map(|which| Part::Forget { which }),
    ]
}

/// Memory that the program holds, and which of the model's values it should have.
struct Held {
    memory: DeviceMemory,
    value: usize,
}

/// What a piece of work does to the model's values.
#[derive(Debug, Clone, Copy)]
enum Effect {
    Becomes { value: usize, byte: u8 },
    Copies { from: usize, to: usize },
}

struct Program {
    device: Device,
    /// What the device had left before.
    free: usize,
    streams: Vec<Stream>,
    slots: [Option<Held>; SLOTS],
    graphs: Vec<(GraphExec, Vec<Effect>)>,
    /// The byte that each memory there ever was is filled with.
    values: Vec<u8>,
}

impl Program {
    fn new(device: Device) -> Program {
        Program {
            device,
            free: device.memory_info().expect("an answer").free,
            streams: (0..STREAMS).map(|_| Stream::new(device).expect("a stream")).collect(),
            slots: [const { None }; SLOTS],
            graphs: Vec::new(),
            values: Vec::new(),
        }
    }

    fn run(&mut self, part: &Part) {
        match part {
            Part::Runs(steps) => {
                let effects = self.enqueue(steps);
                self.apply(&effects);
            }
            Part::Captured { steps, on } => {
                let origin = self.streams[on[0]].clone();
                let (graph, effects) = origin
                    .capture(|_| Ok::<_, gpu_alloc::Error>(self.enqueue(steps)))
                    .expect("it can be captured");
                self.graphs.push((graph.instantiate().expect("it is complete"), effects));
                let newest = self.graphs.len() - 1;
                on.iter().for_each(|stream| self.launch(newest, *stream));
            }
            Part::Again { which, on } => {
                if !self.graphs.is_empty() {
                    self.launch(which.index(self.graphs.len()), *on);
                }
            }
            Part::Forget { which } => {
                if !self.graphs.is_empty() {
                    self.graphs.remove(which.index(self.graphs.len()));
                }
            }
        }
    }

    fn enqueue(&mut self, steps: &[Step]) -> Vec<Effect> {
        let mut effects = Vec::new();
        for step in steps {
            match *step {
                Step::New { slot, home, stream, size, byte } => {
                    self.slots[slot] = None;
                    let memory = allocate(self.device, size, &self.streams[home]).expect("room");
                    fill(&self.streams[stream], &memory, byte);
                    let value = self.values.len();
                    self.values.push(0);
                    self.slots[slot] = Some(Held { memory, value });
                    effects.push(Effect::Becomes { value, byte });
                }
                Step::Fill { slot, stream, byte } => {
                    let Some(held) = &self.slots[slot] else { continue };
                    fill(&self.streams[stream], &held.memory, byte);
                    effects.push(Effect::Becomes { value: held.value, byte });
                }
                Step::Copy { from, to, stream } => {
                    let (Some(from), Some(to)) = (&self.slots[from], &self.slots[to]) else {
                        continue;
                    };
                    if from.value != to.value && from.memory.bytes() == to.memory.bytes() {
                        copy(&self.streams[stream], &to.memory, &from.memory);
                        effects.push(Effect::Copies { from: from.value, to: to.value });
                    }
                }
                Step::Drop { slot } => self.slots[slot] = None,
            }
        }
        effects
    }

    fn launch(&mut self, graph: usize, stream: usize) {
        let (exec, effects) = &self.graphs[graph];
        exec.launch(&self.streams[stream]).expect("the launch is taken");
        let effects = effects.clone();
        self.apply(&effects);
    }

    fn apply(&mut self, effects: &[Effect]) {
        for effect in effects {
            match *effect {
                Effect::Becomes { value, byte } => self.values[value] = byte,
                Effect::Copies { from, to } => self.values[to] = self.values[from],
            }
        }
    }

    /// Everything that is held is what it should be, and then nothing is left.
    fn finish(mut self) {
        for Held { memory, value } in self.slots.iter_mut().filter_map(Option::take) {
            let bytes = read(&self.streams[0], &memory);
            assert!(bytes.iter().all(|byte| *byte == self.values[value]), "{bytes:?}");
        }
        let (device, free) = (self.device, self.free);
        drop(self);
        device.synchronize().expect("the device works");
        empty_cache().expect("the device works");
        assert_eq!((memory_allocated(device), memory_reserved(device)), (0, 0));
        assert_eq!(device.memory_info().expect("an answer").free, free);
    }
}

fn try_programs(schedule: impl Fn(u64) -> Schedule) {
    let [device, ..] = devices();
    let config =
        ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    let number = std::cell::Cell::new(0);
    let parts = prop::collection::vec(part(), 1..10);
    let outcome = TestRunner::new(config).run(&parts, |parts| {
        number.set(number.get() + 1);
        set_schedule(&schedule(number.get())).expect("the driver is in use");
        let races = RaceChecker::start();
        let mut program = Program::new(device);
        parts.iter().for_each(|part| program.run(part));
        program.finish();
        let races = races.finish();
        prop_assert!(races.is_empty(), "{}", races[0]);
        Ok(())
    });
    outcome.expect("what is held is what it would be if everything ran at once");
}

#[test]
fn captured_programs_do_what_they_do_uncaptured() {
    isolate(|| try_programs(|_| Schedule::Fast)).run();
}

#[test]
fn captured_programs_do_what_they_do_uncaptured_under_adversarial_schedules() {
    isolate(|| try_programs(Schedule::Adversarial)).run();
}
