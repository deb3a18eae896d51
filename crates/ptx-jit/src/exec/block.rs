//! A block whose threads may have to wait: its threads take turns until all have ended.

use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicBool;

use super::barrier::{BARRIERS, Barrier};
use super::buffer::Buffer;
use super::fault::{Fault, FaultKind};
use super::launch::Launch;
use super::lockstep::WarpRecords;
use super::runner::Runner;
use super::threads::{ThreadPlaces, ThreadRecords};
use super::warp::lanes;
use super::watch::new_checker;
use crate::abi::{CheckLevel, FINISHED, KernelContext, STOPPED, SUSPENDED};
use crate::stack::Stack;

/// The number of times that threads may test in vain, one after the other, while nothing else goes on.
const MAX_VAIN_TESTS: u32 = 10_000;

/// The memory and the threads of a block. It can run one block after the other.
pub(super) struct ThreadBlock<'a> {
    pub(super) context: Box<KernelContext>,
    pub(super) runner: Box<Runner<'a>>,
    shared: Buffer,
    _local: Buffer,
    pub(super) threads: ThreadRecords,
    /// The records of the full warps, for native code that runs warps; none for code that runs
    /// threads.
    pub(super) records: WarpRecords,
    pub(super) warps: Vec<Warp>,
    pub(super) barriers: [Barrier; BARRIERS],
    /// Whether nothing of the block has run yet.
    pub(super) fresh: bool,
    /// Whether the warps' records have changed since the block began, and must be reset for the
    /// next one.
    pub(super) has_moved: bool,
    /// The number of threads that have not ended.
    pub(super) live: u32,
    /// The number of rounds since a thread ended or a barrier opened.
    quiet_rounds: u32,
    /// The number of rounds in which threads only tested phases, and in vain.
    vain_rounds: u32,
}

/// The number of times that the members of a warp go on together before the next warp has its turn.
const TURNS: u32 = 1024;

/// The number of rounds in which no thread ended and no barrier opened after which the block counts
/// as spinning: all that goes on may be warps that wait together for something outside.
const QUIET_ROUNDS: u32 = 16;

/// The scheduling state of a warp: each lane that has not ended is in one of these masks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Warp {
    pub(super) ready: u32,
    /// Lanes that let the others go first.
    pub(super) yielded: u32,
    /// Lanes that wait for members of the warp.
    pub(super) waiting: u32,
    /// Lanes that wait at a barrier of the block.
    pub(super) blocked: u32,
    /// Lanes that wait for the phase of a barrier in memory.
    pub(super) polling: u32,
    /// Lanes that have come to where the warp goes on together.
    pub(super) held: u32,
    /// Whether the lanes run in lockstep; all are then in the same mask.
    pub(super) together: bool,
}

impl Warp {
    /// The lanes that have not ended.
    pub(super) fn live(self) -> u32 {
        self.ready | self.yielded | self.waiting | self.blocked | self.polling | self.held
    }
}

/// The result of a round in which each thread had its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// All threads have ended.
    Ended,
    Advanced,
    /// Threads only polled memory, and none went on.
    Spun,
}

impl<'a> ThreadBlock<'a> {
    /// Allocates the memory for one block of a launch at a time. In kernels where no thread waits,
    /// all threads use one thread's memory in turn.
    pub(super) fn new(
        launch: &'a Launch<'a>,
        interrupted: &'a AtomicBool,
        stack: &'a Stack,
    ) -> ThreadBlock<'a> {
        let kernel = launch.kernel;
        let count: u32 = launch.block.iter().product();
        let own = if kernel.suspends || kernel.warps().is_some() { count as usize } else { 1 };
        let shared_bytes = kernel.dynamic_shared_offset + launch.dynamic_shared_bytes as usize;
        let local_stride = kernel.local_bytes.next_multiple_of(64);
        let shared = Buffer::zeroed(shared_bytes);
        let local = Buffer::zeroed(own * local_stride);
        let full = if kernel.warps().is_some() { own / 32 } else { 0 };
        let mut records = WarpRecords::new(full, own.div_ceil(32), kernel.frame_bytes());
        let mut threads = ThreadRecords::new(ThreadPlaces {
            block: launch.block,
            count: own,
            local: local.start(),
            local_stride,
            frame: records.frame(0),
            frame_stride: records.stride(),
        });
        records.set_threads(&mut threads);
        let address_range = |start: u64, bytes: usize| start..start + bytes as u64;
        let runner = Box::new(Runner {
            launch,
            interrupted,
            stack,
            block: Cell::new(0),
            shared: address_range(shared.start() as u64, shared_bytes),
            parameters: address_range(launch.parameters.as_ptr() as u64, kernel.parameter_bytes),
            fault: RefCell::new(None),
            check: new_checker(launch, shared_bytes, own),
        });
        let mut context = Box::new(launch.context(shared.start(), shared_bytes, stack));
        context.warps = records.start();
        context.warp_count = records.len() as u32;
        ThreadBlock {
            context,
            runner,
            shared,
            _local: local,
            threads,
            records,
            warps: vec![Warp::default(); own.div_ceil(32)],
            barriers: [Barrier::default(); BARRIERS],
            fresh: true,
            has_moved: false,
            live: 0,
            quiet_rounds: 0,
            vain_rounds: 0,
        }
    }

    /// Gets ready to run a block from its beginning.
    pub(super) fn start(&mut self, index: u64) {
        self.go_to(index);
        self.context.runner = (&raw const *self.runner).cast();
        self.runner.block.set(index);
        self.fresh = true;
        self.runner.with_check(|check| check.start(position(index, self.runner.launch.grid)));
        if std::mem::take(&mut self.has_moved) {
            for warp in 0..self.records.len() {
                let record = &mut self.records[warp];
                (record.state, record.operands) = (0, [0; 3]);
            }
        }
        if self.runner.launch.kernel.check == CheckLevel::Full {
            // Kernels that read what nobody wrote see NaN or -1, not the zeros that hide the
            // mistake.
            self.shared.fill(0xff);
        }
    }

    /// Writes the index of the block that runs into the context. Most often it is the next one
    /// after the last that ran, and needs no division.
    fn go_to(&mut self, index: u64) {
        let grid = self.runner.launch.grid;
        let place = &mut self.context.block_index;
        let is_next = index == self.runner.block.get() + 1 && place[0] + 1 < grid[0];
        if is_next {
            place[0] += 1;
        } else {
            *place = position(index, grid);
        }
    }

    /// Puts all warps at their beginning.
    fn reset_warps(&mut self) {
        self.live = self.threads.len() as u32;
        (self.quiet_rounds, self.vain_rounds) = (0, 0);
        for (index, warp) in self.warps.iter_mut().enumerate() {
            let count = (self.threads.len() - 32 * index).min(32);
            let together = index < self.records.len();
            *warp = Warp { ready: u32::MAX >> (32 - count), together, ..Warp::default() };
        }
        self.barriers = [Barrier::default(); BARRIERS];
        // Threads of full warps are given their states when they leave the lockstep.
        for thread in &mut self.threads[32 * self.records.len()..] {
            (thread.state, thread.stop) = (0, 0);
        }
    }

    /// Runs a block of a kernel in which no thread waits.
    pub(super) fn run_all(&mut self) -> Result<(), Fault> {
        match self.call(0)? {
            FINISHED => Ok(()),
            _ => Err(self.fault(0, FaultKind::Trap)),
        }
    }

    /// Lets each thread run until it waits, ends, or lets others go first.
    pub(super) fn round(&mut self) -> Result<Round, Fault> {
        if self.runner.is_interrupted() {
            return Err(self.fault(0, FaultKind::Interrupted));
        }
        if std::mem::take(&mut self.fresh) && self.begin()? {
            return Ok(Round::Ended);
        }
        let live = self.live;
        let mut advanced = false;
        for warp in 0..self.warps.len() {
            let yielded = std::mem::take(&mut self.warps[warp].yielded);
            self.warps[warp].ready |= yielded;
            advanced |= self.run_together(warp)?;
        }
        let opened = self.open_barriers();
        if self.live == 0 {
            return Ok(Round::Ended);
        }
        let opened = self.end_waits(opened, advanced)?;
        if !self.warps.iter().any(|warp| warp.ready | warp.yielded != 0) {
            return Err(self.deadlock());
        }
        self.quiet_rounds += 1;
        if opened || self.live < live {
            self.quiet_rounds = 0;
        }
        let spins = !(advanced || opened) || self.quiet_rounds > QUIET_ROUNDS;
        Ok(if spins { Round::Spun } else { Round::Advanced })
    }

    /// Ends the waits for phases of barriers in memory that are complete, and tests of others where nothing
    /// else goes on. Whether a barrier has opened, or a phase is complete.
    fn end_waits(&mut self, opened: bool, advanced: bool) -> Result<bool, Fault> {
        if !self.warps.iter().any(|warp| warp.polling != 0) {
            self.vain_rounds = 0;
            return Ok(opened);
        }
        let others = self.warps.iter().any(|warp| warp.ready | warp.yielded != 0);
        let (complete, _) = self.end_phase_waits(false)?;
        if opened || advanced || complete {
            self.vain_rounds = 0;
            return Ok(opened || complete);
        }
        if self.vain_rounds < MAX_VAIN_TESTS {
            let (_, vain) = self.end_phase_waits(true)?;
            self.vain_rounds += u32::from(vain && !others);
            // Nothing outside of the block can end such a wait.
            return Ok(vain && !others);
        }
        Ok(false)
    }

    /// Runs a warp as far as its members need no other warps. True if any did more than to let
    /// others go first.
    fn run_together(&mut self, warp: usize) -> Result<bool, Fault> {
        let mut advanced = false;
        for _ in 0..TURNS {
            let Warp { ready, waiting, .. } = self.warps[warp];
            let released = ready == 0 && waiting != 0 && self.release_warp(warp);
            if ready == 0 && !released && !self.gather(warp) {
                break;
            }
            if self.warps[warp].together {
                advanced |= self.run_lockstep(warp)?;
                continue;
            }
            advanced |= released;
            advanced |= self.run_warp(warp)?;
            advanced |= self.warps[warp].waiting != 0 && self.release_warp(warp);
        }
        Ok(advanced)
    }

    /// Begins a block, with its warps in a chain if that is possible. True if it has ended already.
    fn begin(&mut self) -> Result<bool, Fault> {
        let status = self.can_chain().then(|| self.run_chain());
        self.has_moved = status != Some(FINISHED) || self.runner.launch.kernel.takes_turns();
        if status == Some(FINISHED) && self.threads.len().is_multiple_of(32) {
            return Ok(true);
        }
        self.reset_warps();
        if let Some(status) = status {
            self.leave_chain(status)?;
        }
        Ok(self.live == 0)
    }

    /// Runs the ready threads of a warp, one after the other. True if any did more than to let
    /// others go first.
    fn run_warp(&mut self, warp: usize) -> Result<bool, Fault> {
        let ready = std::mem::take(&mut self.warps[warp].ready);
        let mut advanced = false;
        for lane in lanes(ready) {
            let index = 32 * warp + lane;
            let status = self.call(index)?;
            advanced |= match status {
                FINISHED => {
                    self.live -= 1;
                    true
                }
                SUSPENDED => self.suspended(index)?,
                STOPPED => {
                    self.warps[warp].held |= 1 << lane;
                    true
                }
                _ => return Err(self.fault(index, FaultKind::Trap)),
            };
        }
        Ok(advanced)
    }

    fn call(&mut self, index: usize) -> Result<u32, Fault> {
        let entry = match self.runner.threads_entry(&mut self.context) {
            Ok(entry) => entry,
            Err(kind) => return Err(self.fault(index, kind)),
        };
        let context = &raw mut *self.context;
        let thread = self.threads.as_mut_ptr().wrapping_add(index);
        // SAFETY: context and thread point to live memory of the sizes that the kernel was compiled
        // for, the launch keeps parameters and globals alive, and the code lives as long as the
        // kernel.
        Ok(unsafe { self.runner.call(thread, entry, (context, thread)) })
    }

    /// The fault that native code left in the runner, or else a fault of the given kind.
    pub(super) fn fault(&mut self, index: usize, kind: FaultKind) -> Fault {
        let thread = &self.threads[index];
        let kernel = self.runner.launch.kernel;
        let site = match self.warps[index / 32].together {
            true => kernel.wait_of_warp(self.records[index / 32].state),
            false => kernel.thread_site(thread.site),
        };
        let line = site.map_or(0, |site| site.line);
        let line = if kind == FaultKind::Interrupted { 0 } else { line };
        self.runner.stop(thread, line, kind);
        let fault = self.runner.fault.take();
        fault.expect("a stopped thread left its fault")
    }
}

/// The coordinates of a linear index in a grid or block of those extents. x counts fastest.
pub(super) fn position(index: u64, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(u64::from);
    [(index % x) as u32, (index / x % y) as u32, (index / (x * y)) as u32]
}
