//! What a thread of a launch knows of what others have done.

/// The knowledge of a thread: a vector clock over the threads of its block, and the flags it has
/// acquired. All that it says happened before what the thread does next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The clock of each thread of the block up to which its doings are known.
    clocks: Vec<u32>,
    /// Flags that were read: what their releases knew is known too, of other blocks and of the own.
    acquired: Vec<Acquired>,
}

/// A flag that a thread has read: its number, and how many of its releases the read has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acquired {
    pub(crate) flag: u32,
    pub(crate) upto: u32,
}

impl Known {
    /// The knowledge with which threads begin a block: everything up to a clock.
    pub(crate) fn up_to(clock: u32, threads: usize) -> Known {
        Known { clocks: vec![clock; threads], acquired: Vec::new() }
    }

    /// Whether it knows of no threads at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.clocks.is_empty()
    }

    /// The clock of a thread of the block up to which its doings are known.
    pub(crate) fn of(&self, thread: u32) -> u32 {
        self.clocks.get(thread as usize).copied().unwrap_or(0)
    }

    /// The clock up to which the doings of all threads of the block are known.
    pub(crate) fn of_all(&self) -> u32 {
        self.clocks.iter().copied().min().unwrap_or(0)
    }

    /// Adds what a thread of the block has done up to a clock.
    pub(crate) fn set(&mut self, thread: usize, clock: u32) {
        self.clocks[thread] = clock;
    }

    /// The flags that were acquired.
    pub(crate) fn acquired(&self) -> &[Acquired] {
        &self.acquired
    }

    /// Adds what the releases of a flag make known.
    pub(crate) fn acquire(&mut self, acquired: Acquired) {
        match self.acquired.iter_mut().find(|own| own.flag == acquired.flag) {
            Some(own) => own.upto = own.upto.max(acquired.upto),
            None => self.acquired.push(acquired),
        }
    }

    /// Adds what another thread knows.
    pub(crate) fn join(&mut self, other: &Known) {
        for (own, other) in self.clocks.iter_mut().zip(&other.clocks) {
            *own = (*own).max(*other);
        }
        other.acquired.iter().for_each(|&acquired| self.acquire(acquired));
    }
}
