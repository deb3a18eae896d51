//! Runs a program: its threads all at once, and a look at what is left.

use std::sync::{Arc, Barrier, LazyLock};
use std::thread;

use parallel::{DataLoader, TensorDataset};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tensor::cuda::{self, Stream};
use tensor::{Blocking, DType, Device, Error, Result, Tensor};

use super::program::ThreadedProgram;
use super::serial::{ActOutcome, BEGINNING, Outcomes, WrongOutcome};
use super::steps::{Nuisance, ProgramStep, SharedAct, SharedSlot};

/// Threads that have nothing to do with Sluice.
static POOL: LazyLock<Option<ThreadPool>> =
    LazyLock::new(|| ThreadPoolBuilder::new().num_threads(2).build().ok());

/// The state that the threads share.
struct SharedTensors {
    tensors: [Tensor; 4],
    leaf: Tensor,
}

pub(crate) fn run(program: &ThreadedProgram) -> std::result::Result<Outcomes, WrongOutcome> {
    let failed = |error: Error| WrongOutcome::Failed(error.to_string());
    let shared = Arc::new(SharedTensors::new(program.elements).map_err(failed)?);
    let begin = Arc::new(Barrier::new(program.threads.len()));
    let threads: Vec<_> = program
        .threads
        .iter()
        .map(|steps| {
            let (steps, shared, begin) = (steps.clone(), Arc::clone(&shared), Arc::clone(&begin));
            thread::spawn(move || {
                begin.wait();
                perform(&steps, &shared)
            })
        })
        .collect();
    // All are waited for, also when one has panicked: the hook has noted it.
    let ended: Vec<_> = threads.into_iter().map(thread::JoinHandle::join).collect();
    let acts = ended.into_iter().collect::<thread::Result<_>>();
    let acts = acts.map_err(|_| WrongOutcome::Failed("a thread panicked".into()))?;
    Ok(Outcomes { acts, last: shared.last()? })
}

impl SharedTensors {
    fn new(elements: usize) -> Result<SharedTensors> {
        let full = |slot: SharedSlot, device| {
            Tensor::full([elements], BEGINNING[slot as usize], (DType::I64, device))
        };
        let tensors = [
            full(SharedSlot::Host, Device::Cpu)?,
            full(SharedSlot::Pinned, Device::Cpu)?.pin_memory()?,
            full(SharedSlot::First, Device::cuda_at(0))?,
            full(SharedSlot::Second, Device::cuda_at(1))?,
        ];
        let leaf = Tensor::ones([elements.min(64)], Device::cuda_at(0))?.requires_grad_(true)?;
        Ok(SharedTensors { tensors, leaf })
    }

    fn tensor(&self, slot: SharedSlot) -> &Tensor {
        &self.tensors[slot as usize]
    }

    /// The contents of the slots.
    fn last(&self) -> std::result::Result<[i64; SharedSlot::COUNT], WrongOutcome> {
        let mut last = BEGINNING;
        for slot in SharedSlot::TENSORS {
            last[slot as usize] = match seen(self.tensor(slot).to_vec::<i64>()) {
                ActOutcome::Saw(value) => value,
                outcome => return Err(WrongOutcome::Torn(format!("in the end {outcome:?}"))),
            };
        }
        if let Some(gradient) = self.leaf.grad() {
            let whole = gradient.to(DType::I64).and_then(|gradient| gradient.to_vec::<i64>());
            last[SharedSlot::Gradient as usize] = match seen(whole) {
                ActOutcome::Saw(value) => value,
                outcome => return Err(WrongOutcome::Torn(format!("the gradient {outcome:?}"))),
            };
        }
        Ok(last)
    }
}

/// Does the steps of one thread.
fn perform(steps: &[ProgramStep], shared: &SharedTensors) -> Vec<ActOutcome> {
    let mut outcomes = Vec::new();
    let mut held = Vec::new();
    let mut streams = Vec::new();
    for step in steps {
        match *step {
            ProgramStep::Act { act: SharedAct::Hold { slot }, .. } => {
                let guard = shared.tensor(slot).read::<i64>();
                match guard {
                    Ok(guard) => {
                        outcomes.push(seen(Ok(guard.to_vec())));
                        held.push((outcomes.len() - 1, guard));
                    }
                    Err(error) => outcomes.push(ActOutcome::Refused(error.to_string())),
                }
            }
            ProgramStep::Act { act, in_pool: false } => outcomes.push(done(act, shared)),
            ProgramStep::Act { act, in_pool: true } => outcomes.push(match &*POOL {
                Some(pool) => pool.install(|| done(act, shared)),
                None => done(act, shared),
            }),
            ProgramStep::Nuisance(Nuisance::LetGo) => let_go(&mut held, &mut outcomes),
            ProgramStep::Nuisance(Nuisance::OwnStream) => {
                let stream = Stream::new(Device::cuda_at(streams.len() % 2));
                streams.extend(stream.and_then(|stream| stream.enter()));
            }
            ProgramStep::Nuisance(nuisance) => drop(get_in_the_way(nuisance)),
        }
    }
    let_go(&mut held, &mut outcomes);
    while streams.pop().is_some() {}
    outcomes
}

type HeldGuard = (usize, tensor::ReadGuard<i64>);

/// Looks through guards once more, and drops them.
fn let_go(held: &mut Vec<HeldGuard>, outcomes: &mut [ActOutcome]) {
    for (position, guard) in held.drain(..) {
        let now = seen(Ok(guard.to_vec()));
        if now != outcomes[position] {
            let text = format!("a guard showed {:?}, then {now:?}", outcomes[position]);
            outcomes[position] = ActOutcome::Torn(text);
        }
    }
}

fn done(act: SharedAct, shared: &SharedTensors) -> ActOutcome {
    let result = match act {
        SharedAct::Add { slot, by } => shared.tensor(slot).add_(by).map(drop),
        SharedAct::Multiply { slot, by } => shared.tensor(slot).mul_(by).map(drop),
        SharedAct::Copy { to, from, waits } => {
            let blocking = if waits { Blocking::Yes } else { Blocking::No };
            shared.tensor(to).copy_with(shared.tensor(from), blocking).map(drop)
        }
        SharedAct::AddFrom { to, from } => shared.tensor(to).add_(shared.tensor(from)).map(drop),
        SharedAct::Read { slot } | SharedAct::Hold { slot } => {
            return seen(shared.tensor(slot).to_vec());
        }
        SharedAct::Launch { slot, by } => launch(shared.tensor(slot), by),
        SharedAct::Backward { by } => {
            shared.leaf.mul(by).and_then(|y| y.sum(())).and_then(|y| y.backward())
        }
    };
    result.map_or_else(|error| ActOutcome::Refused(error.to_string()), |()| ActOutcome::Done)
}

/// Captures an addition and launches the graph once.
fn launch(tensor: &Tensor, by: i64) -> Result<()> {
    let stream = Stream::new(tensor.device())?;
    let (graph, ()) = stream.capture(|_| tensor.add_(by).map(drop))?;
    Ok(graph.instantiate()?.launch(&stream)?)
}

fn get_in_the_way(nuisance: Nuisance) -> Result<()> {
    let device = Device::cuda_at(0);
    match nuisance {
        Nuisance::Callback => {
            let tensor = Tensor::ones([1000], device)?;
            let stream = cuda::current_stream(device)?;
            stream.add_callback(move || drop(tensor))?;
        }
        Nuisance::Capture => {
            let stream = Stream::new(device)?;
            let tensor = Tensor::ones([1000], device)?;
            drop(stream.capture(|_| tensor.mul(2))?);
        }
        Nuisance::Loader => {
            let dataset = TensorDataset::new(Tensor::ones([8, 2], ())?)?;
            let loader = DataLoader::builder(dataset).batch_size(2).workers(2).prefetch_to(device);
            if let Ok(loader) = loader.build() {
                drop(loader.iter().next());
            }
        }
        Nuisance::EmptyCaches => {
            cuda::empty_cache()?;
            cuda::empty_host_cache();
        }
        Nuisance::Synchronize => cuda::synchronize(Device::cuda_at(1))?,
        // These are up to the thread that has the guards.
        Nuisance::LetGo | Nuisance::OwnStream => {}
    }
    Ok(())
}

/// The value that all elements have.
fn seen(elements: Result<Vec<i64>>) -> ActOutcome {
    match elements {
        Err(error) => ActOutcome::Refused(error.to_string()),
        Ok(elements) => match elements.split_first() {
            Some((&first, others)) => match others.iter().find(|&&other| other != first) {
                Some(other) => ActOutcome::Torn(format!("{first} beside {other}")),
                None => ActOutcome::Saw(first),
            },
            None => ActOutcome::Torn("there are no elements".into()),
        },
    }
}
