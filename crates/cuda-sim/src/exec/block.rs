//! A block whose threads may have to wait: its threads take turns until all have ended.

use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicBool;

use super::barrier::{BARRIERS, Barrier};
use super::buffer::Buffer;
use super::runner::Runner;
use super::state::{Context, FINISHED, SUSPENDED, Thread, slots};
use super::warp::{lanes, member_mask, resolve};
use super::{CheckLevel, Fault, FaultKind, Launch};
use crate::ptx::{BarrierOp, Suspension};

/// The memory and the threads of a block. It can run one block after the other.
pub(super) struct Block<'a> {
    context: Box<Context>,
    runner: Box<Runner<'a>>,
    shared: Buffer,
    _local: Buffer,
    _frames: Buffer,
    threads: Vec<Thread>,
    turns: Vec<Turn>,
    barriers: [Barrier; BARRIERS],
    /// Threads that have not ended.
    live: u32,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Ready,
    /// It let the others go first.
    Yielded,
    /// It waits at its site.
    Waiting,
    Ended,
}

/// What came of a round in which each thread had its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// All threads have ended.
    Ended,
    Advanced,
    /// Threads only looked whether something has happened meanwhile.
    Spun,
}

impl<'a> Block<'a> {
    /// Memory for one block of a launch at a time. In kernels where no thread waits, all threads
    /// share one's memory.
    pub(super) fn new(launch: &'a Launch<'a>, interrupted: &'a AtomicBool) -> Block<'a> {
        let kernel = launch.kernel;
        let count: u32 = launch.block.iter().product();
        let own = if kernel.suspends { count as usize } else { 1 };
        let shared_bytes = kernel.dynamic_shared_offset + launch.dynamic_shared_bytes as usize;
        let local_stride = kernel.local_bytes.next_multiple_of(64);
        let shared = Buffer::new(shared_bytes);
        let local = Buffer::new(own * local_stride);
        let frames = Buffer::new(own * kernel.native.frame_words * 8);
        let thread = |index: usize| Thread {
            local: local.start().wrapping_add(index * local_stride),
            frame: frames.start().cast::<u64>().wrapping_add(index * kernel.native.frame_words),
            linear: index as u32,
            index: position(index as u64, launch.block),
            state: 0,
            site: 0,
            operands: [0; 4],
            results: [0; 2],
        };
        let threads = (0..own).map(thread).collect();
        let parameters = launch.parameters.as_ptr();
        let address_range = |start: u64, bytes: usize| start..start + bytes as u64;
        let runner = Box::new(Runner {
            launch,
            interrupted,
            block: Cell::new([0; 3]),
            shared: address_range(shared.start() as u64, shared_bytes),
            parameters: address_range(parameters as u64, kernel.parameter_bytes),
            fault: RefCell::new(None),
        });
        let window = launch.memory.window();
        let aligned = window.start.is_multiple_of(32);
        let context = Box::new(Context {
            window_start: window.start,
            window_slots: slots(if aligned { window.end - window.start } else { 0 }),
            parameters,
            parameter_slots: slots(kernel.parameter_bytes as u64),
            shared: shared.start(),
            shared_slots: slots(shared_bytes as u64),
            local_slots: slots(kernel.local_bytes as u64),
            globals: launch.globals.as_ptr(),
            grid: launch.grid,
            block: launch.block,
            block_index: [0; 3],
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            total_shared_bytes: shared_bytes as u32,
            runner: std::ptr::null(),
        });
        Block {
            context,
            runner,
            shared,
            _local: local,
            _frames: frames,
            threads,
            turns: vec![Turn::Ended; own],
            barriers: [Barrier::default(); BARRIERS],
            live: 0,
        }
    }

    /// Gets ready to run a block from its beginning.
    pub(super) fn start(&mut self, index: u64) {
        let place = position(index, self.runner.launch.grid);
        self.context.block_index = place;
        self.context.runner = (&raw const *self.runner).cast();
        self.runner.block.set(place);
        self.live = self.threads.len() as u32;
        self.turns.fill(Turn::Ready);
        self.barriers = [Barrier::default(); BARRIERS];
        for thread in &mut self.threads {
            thread.state = 0;
        }
        if self.runner.launch.kernel.check == CheckLevel::Full {
            // Kernels that read what nobody wrote see NaN or -1, not the zeros that hide the
            // mistake.
            self.shared.fill(0xff);
        }
    }

    /// Runs a block of a kernel in which no thread waits.
    pub(super) fn run_all(&mut self) -> Result<(), Fault> {
        match self.call(0) {
            FINISHED => Ok(()),
            _ => Err(self.fault(0, FaultKind::Trap)),
        }
    }

    /// Lets each thread run until it waits, ends, or lets others go first.
    pub(super) fn round(&mut self) -> Result<Round, Fault> {
        if self.runner.is_interrupted() {
            return Err(self.fault(0, FaultKind::Interrupted));
        }
        let mut advanced = false;
        for turn in self.turns.iter_mut().filter(|turn| **turn == Turn::Yielded) {
            *turn = Turn::Ready;
        }
        for first in (0..self.threads.len()).step_by(32) {
            // Members of a warp go on together as far as they need no others.
            loop {
                advanced |= self.run_warp(first)?;
                if !self.release_warp(first) {
                    break;
                }
                advanced = true;
            }
        }
        advanced |= self.open_barriers();
        if self.live == 0 {
            return Ok(Round::Ended);
        }
        let waiting = self.turns.iter().filter(|&&turn| turn == Turn::Waiting).count() as u32;
        if waiting == self.live {
            let first = self.turns.iter().position(|&turn| turn == Turn::Waiting).unwrap_or(0);
            return Err(self.fault(first, FaultKind::BarrierDivergence { waiting }));
        }
        Ok(if advanced { Round::Advanced } else { Round::Spun })
    }

    /// Runs the ready threads of a warp; whether any did more than to let others go first.
    fn run_warp(&mut self, first: usize) -> Result<bool, Fault> {
        let mut advanced = false;
        for index in first..self.threads.len().min(first + 32) {
            if self.turns[index] != Turn::Ready {
                continue;
            }
            self.turns[index] = match self.call(index) {
                FINISHED => {
                    self.live -= 1;
                    Turn::Ended
                }
                SUSPENDED => self.suspended(index)?,
                _ => return Err(self.fault(index, FaultKind::Trap)),
            };
            advanced |= self.turns[index] != Turn::Yielded;
        }
        Ok(advanced)
    }

    fn call(&mut self, index: usize) -> u32 {
        let entry = self.runner.launch.kernel.native.entry();
        // SAFETY: context and thread point to live memory of the sizes that the kernel was compiled
        // for, the launch keeps parameters and globals alive, and the code lives as long as the
        // kernel.
        unsafe { entry(&raw const *self.context, &raw mut self.threads[index]) }
    }

    /// What a thread does that has just reached a suspension.
    fn suspended(&mut self, index: usize) -> Result<Turn, Fault> {
        let operands = self.threads[index].operands;
        match self.suspension(index) {
            Suspension::Yield => Ok(Turn::Yielded),
            Suspension::Barrier(op) => {
                let Some(barrier) = self.barriers.get_mut(operands[0] as usize) else {
                    return Err(self.fault(index, FaultKind::Trap));
                };
                barrier.arrive(operands[1] as u32, operands[2] != 0);
                Ok(if op == BarrierOp::Arrive { Turn::Ready } else { Turn::Waiting })
            }
            _ => Ok(Turn::Waiting),
        }
    }

    /// Completes operations of a warp whose members are all there; whether there was one.
    fn release_warp(&mut self, first: usize) -> bool {
        let count = (self.threads.len() - first).min(32);
        let is = |turn: Turn| {
            (0..count)
                .filter(|&lane| self.turns[first + lane] == turn)
                .fold(0u32, |mask, lane| mask | 1 << lane)
        };
        let (waiting, ended) = (is(Turn::Waiting), is(Turn::Ended));
        let exists = if count == 32 { u32::MAX } else { (1 << count) - 1 };
        let mut handled = 0;
        for lane in lanes(waiting) {
            if handled >> lane & 1 != 0 {
                continue;
            }
            let suspension = self.suspension(first + lane);
            if matches!(suspension, Suspension::Barrier(_)) {
                continue;
            }
            let mask = member_mask(suspension, &self.threads[first + lane].operands);
            let peers =
                lanes(waiting).filter(|&other| self.same_operation(first + lane, first + other));
            let peers: u32 = peers.map(|other| 1 << other).sum();
            // Without a mask, all that have come so far take part; the others are elsewhere.
            let members = mask.map_or(peers, |mask| mask & exists & !ended);
            if members & peers == members && members >> lane & 1 != 0 {
                self.complete(first, suspension, members);
                handled |= members;
            }
        }
        handled != 0
    }

    /// Whether two waiting threads of a warp are in the same operation, with the same members.
    fn same_operation(&self, a: usize, b: usize) -> bool {
        let (first, second) = (self.suspension(a), self.suspension(b));
        let mask = |index: usize| member_mask(first, &self.threads[index].operands);
        let same_place =
            first != Suspension::ActiveMask || self.threads[a].site == self.threads[b].site;
        first == second && mask(a) == mask(b) && same_place
    }

    fn complete(&mut self, first: usize, suspension: Suspension, members: u32) {
        let mut operands = [[0; 4]; 32];
        for lane in lanes(members) {
            operands[lane] = self.threads[first + lane].operands;
        }
        let results = resolve(suspension, members, &operands);
        for lane in lanes(members) {
            self.threads[first + lane].results = results[lane];
            self.turns[first + lane] = Turn::Ready;
        }
    }

    /// Opens the barriers that all threads have reached; whether there was one.
    fn open_barriers(&mut self) -> bool {
        let mut any = false;
        for barrier in 0..BARRIERS {
            let Some(opened) = self.barriers[barrier].open(self.live) else {
                continue;
            };
            any = true;
            for index in 0..self.threads.len() {
                if self.turns[index] != Turn::Waiting {
                    continue;
                }
                if let Suspension::Barrier(op) = self.suspension(index)
                    && self.threads[index].operands[0] as usize == barrier
                {
                    self.threads[index].results[0] = opened.result(op);
                    self.turns[index] = Turn::Ready;
                }
            }
        }
        any
    }

    fn suspension(&self, index: usize) -> Suspension {
        let site = self.threads[index].site as usize;
        self.runner.launch.kernel.native.sites[site].suspension
    }

    /// The fault that native code left behind, or else the given one.
    fn fault(&mut self, index: usize, kind: FaultKind) -> Fault {
        let thread = &self.threads[index];
        let sites = &self.runner.launch.kernel.native.sites;
        let line = sites.get(thread.site as usize).map_or(0, |site| site.line);
        let line = if kind == FaultKind::Interrupted { 0 } else { line };
        self.runner.stop(thread, line, kind);
        let fault = self.runner.fault.take();
        fault.expect("a stopped thread left its fault")
    }
}

/// The place of an index in a grid or block of those extents, x first.
fn position(index: u64, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(u64::from);
    [(index % x) as u32, (index / x % y) as u32, (index / (x * y)) as u32]
}
