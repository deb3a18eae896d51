//! The race checker: finds accesses to the same memory that nothing puts in order.

mod act;
mod checker;
mod clock;
mod history;
#[cfg(test)]
mod oracle;
mod placed;
mod shadow;
mod state;

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::error::Race;
use crate::observe::{Observation, observe};
use checker::{Checker, RaceResponse};

/// Looks for races in what all threads do, until it is finished or dropped.
///
/// A race is a pair of accesses to the same bytes, at least one of them a write, where nothing makes
/// the later one wait for the earlier. By default order the runtime itself makes them wait, and
/// there is none; under [`Order::Manual`](crate::Order::Manual), and with memory that is used by
/// address, the program has to. What is found does not depend on who was faster this time: only on
/// what waits for what.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, DeviceBuffer, Order, RaceChecker, Stream, with_order};
///
/// let device = Device::get(0)?;
/// let (writer, reader) = (Stream::new(device)?, Stream::new(device)?);
/// let mut buffer = DeviceBuffer::<u32>::new(device, 100)?;
/// let mut program = |is_ordered: bool| {
///     let checker = RaceChecker::start();
///     with_order(Order::Manual, || {
///         writer.copy_htod_into(&[7; 100], &mut buffer)?;
///         if is_ordered {
///             reader.wait_stream(&writer)?;
///         }
///         reader.copy_dtoh(&buffer)?.wait()
///     })?;
///     gpu_runtime::Result::Ok(checker.finish())
/// };
/// assert!(program(true)?.is_empty());
/// # device.synchronize()?;
/// let races = program(false)?;
/// assert_eq!(races[0].bytes, 400);
/// println!("{}", races[0]); // both copies, their places in the source, and the call that is missing
/// # device.synchronize()?;
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
///
/// # What it knows
///
/// - The memory that copies, fills and launches with buffers access, and what operands of
///   [`ordered`](crate::ordered) say ([`MemoryUse::over`](crate::MemoryUse::over)). A kernel that is
///   given an address and nothing else is not looked at, nor is other code's work.
/// - Which addresses show the same physical memory ([`AddressRange`](crate::AddressRange)): accesses
///   are to the memory, by whichever address. What is enqueued goes by what is mapped then.
/// - Streams, events, waits of streams for each other and of the host, questions that were answered
///   with yes, copies that block, callbacks, the driver's legacy stream.
/// - Memory that an allocator gives to a new owner: what the last owner's work still does there.
/// - Accesses of the host to page-locked memory where they are announced
///   ([`ordered_on_host`](crate::ordered_on_host), [`host_access`](crate::host_access)), as tensors
///   do.
///
/// The threads of the host count as one: what one has waited for, all have, since nobody sees how
/// they tell each other. What `CUDA_LAUNCH_BLOCKING=1` and a [`Timeline`](crate::Timeline) wait for
/// does not count. Work that was enqueued before the checker began is not known to it.
///
/// A race can be missed where a stream waits for work that is done already, and waits for nothing: an
/// event that was recorded on that stream just before, with no work in between, counts as recorded
/// after that work.
///
/// # For whole programs
///
/// With `GPU_SANITIZER=1` in the environment a checker is on from the first use of a device. Then
/// the call whose work would race returns [`Error::DataRace`](crate::Error::DataRace) and enqueues
/// nothing, and the report is written to the standard error output as well, once for each pair of
/// places.
#[must_use = "it looks for races only until it is dropped"]
pub struct RaceChecker {
    checker: Arc<Checker>,
    observation: Observation,
}

impl RaceChecker {
    /// Begins to look for races.
    pub fn start() -> RaceChecker {
        let checker = Arc::new(Checker::new(RaceResponse::Note));
        let observation = observe(checker.clone());
        RaceChecker { checker, observation }
    }

    /// The races that were found, in the order in which their later accesses were asked for: each
    /// pair of places once, and at most 1000. It waits for nothing.
    pub fn finish(self) -> Vec<Race> {
        drop(self.observation);
        self.checker.take()
    }
}

impl fmt::Debug for RaceChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RaceChecker")
    }
}

/// Begins to refuse races in this process, if `GPU_SANITIZER` asks for it.
pub(crate) fn start_if_asked() {
    static OBSERVATION: OnceLock<Observation> = OnceLock::new();
    let value = std::env::var_os("GPU_SANITIZER");
    if value.is_some_and(|value| !value.is_empty() && value != "0") {
        OBSERVATION.get_or_init(|| observe(Arc::new(Checker::new(RaceResponse::Refuse))));
    }
}
