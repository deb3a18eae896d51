//! Messages of bytes between the processes of an MPI job: the one place that calls MPI's C
//! functions.

use std::ffi::{c_char, c_int};
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::Arc;

use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading};
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator as _};

use crate::error::MpiError;

/// The most bytes of one message. MPI counts them as a C `int`.
const MAX_MESSAGE: usize = 8 << 20;

/// The ways of this process to all processes of the job, on a communicator of its own, so that a
/// program's other messages are not mixed up with these.
pub(crate) struct MpiLink {
    universe: ManuallyDrop<Universe>,
    communicator: ManuallyDrop<SimpleCommunicator>,
    rank: usize,
    size: usize,
}

// SAFETY: what keeps it from being `Send` is the handle of an MPI communicator. MPI says that any
// thread may use one if MPI_THREAD_MULTIPLE was provided, which `open` insists on.
unsafe impl Send for MpiLink {}
// SAFETY: all methods that take `&self` only hand the handle to functions that several threads may
// be in at once under MPI_THREAD_MULTIPLE.
unsafe impl Sync for MpiLink {}

impl MpiLink {
    /// Initialises MPI.
    ///
    /// # Errors
    /// It was initialised before, or its library is not made for threads.
    pub(crate) fn open() -> Result<MpiLink, MpiError> {
        let (universe, threading) =
            initialize_with_threading(Threading::Multiple).ok_or(MpiError::InitializedBefore)?;
        if threading != Threading::Multiple {
            return Err(MpiError::NoThreads { provided: format!("{threading:?}") });
        }
        let world = universe.world();
        let communicator = world.duplicate();
        // SAFETY: the communicator was just made, and lives. Without this call MPI ends the process
        // at its first error.
        let code = unsafe {
            ffi::MPI_Comm_set_errhandler(communicator.as_raw(), ffi::RSMPI_ERRORS_RETURN)
        };
        check("MPI_Comm_set_errhandler", code)?;
        // Ranks and sizes are not negative.
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        let (universe, communicator) =
            (ManuallyDrop::new(universe), ManuallyDrop::new(communicator));
        Ok(MpiLink { universe, communicator, rank, size })
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The other ranks.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let own = self.rank;
        (0..self.size).filter(move |&rank| rank != own)
    }

    /// Begins to send the bytes of `payload` in `range` to the rank `to`. Messages of one tag
    /// arrive in the order in which they were sent.
    ///
    /// # Errors
    /// MPI failed.
    pub(crate) fn send(
        &self,
        to: usize,
        tag: MessageTag,
        payload: SharedBytes,
        range: Range<usize>,
    ) -> Result<Transfer<SharedBytes>, MpiError> {
        let mut transfer = Transfer { rank: to, requests: Vec::new(), memory: None };
        let payload = transfer.memory.insert(payload);
        for message in messages(range) {
            let bytes = &payload.bytes()[message];
            let mut request = null_request();
            // SAFETY: the bytes stay where and as they are until the request is done: the transfer
            // is an owner of the payload, which promises that, and does not drop it before.
            let code = unsafe {
                ffi::MPI_Isend(
                    bytes.as_ptr().cast(),
                    bytes.len() as c_int,
                    ffi::RSMPI_UINT8_T,
                    to as c_int,
                    tag as c_int,
                    self.communicator.as_raw(),
                    &mut request,
                )
            };
            check("MPI_Isend", code)?;
            transfer.requests.push(request);
        }
        Ok(transfer)
    }

    /// Begins to receive up to `len` bytes from the rank `from`.
    ///
    /// # Errors
    /// MPI failed, or the host has no memory for so much.
    pub(crate) fn receive(
        &self,
        from: usize,
        tag: MessageTag,
        len: usize,
    ) -> Result<Transfer<Vec<u8>>, MpiError> {
        let mut transfer = Transfer { rank: from, requests: Vec::new(), memory: None };
        let mut memory = Vec::new();
        memory.try_reserve_exact(len).map_err(|_| MpiError::HostOutOfMemory { bytes: len })?;
        memory.resize(len, 0);
        let start = transfer.memory.insert(memory).as_mut_ptr();
        for message in messages(0..len) {
            let mut request = null_request();
            // SAFETY: the range of a message lies in the bytes, which stay where they are until the
            // request is done, and which nobody reads or writes before: the transfer owns them, and
            // neither gives them out nor drops them.
            let code = unsafe {
                ffi::MPI_Irecv(
                    start.add(message.start).cast(),
                    message.len() as c_int,
                    ffi::RSMPI_UINT8_T,
                    from as c_int,
                    tag as c_int,
                    self.communicator.as_raw(),
                    &mut request,
                )
            };
            check("MPI_Irecv", code)?;
            transfer.requests.push(request);
        }
        Ok(transfer)
    }

    /// Ends MPI in this process. Waits until all other processes do so.
    ///
    /// A link that is only dropped leaves MPI as it is: then the end of the process tells `mpirun`,
    /// which ends the job.
    pub(crate) fn finalize(&mut self) {
        // SAFETY: the link is not used afterwards: `finalize` is called by the drop of its owner.
        unsafe {
            ManuallyDrop::drop(&mut self.communicator);
            ManuallyDrop::drop(&mut self.universe);
        }
    }
}

/// The kinds of messages between two ranks, which do not overtake each other within one kind.
#[derive(Clone, Copy)]
pub(crate) enum MessageTag {
    Notice = 1,
    Data = 2,
}

/// Memory that messages are sent from.
///
/// # Safety
/// The bytes stay where they are and as they are as long as the value lives.
pub(crate) unsafe trait Payload: Send + Sync {
    fn bytes(&self) -> &[u8];
}

// SAFETY: the bytes are on the heap, and a box that is only shared never changes them.
unsafe impl Payload for Box<[u8]> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Memory that several messages are sent from.
pub(crate) type SharedBytes = Arc<dyn Payload>;

/// Memory on its way to or from another rank. If it is dropped before it has arrived, the memory is
/// lost, since MPI may still read or write it.
pub(crate) struct Transfer<M> {
    rank: usize,
    requests: Vec<ffi::MPI_Request>,
    /// None once it was taken.
    memory: Option<M>,
}

// SAFETY: handles of requests may be used in any thread under MPI_THREAD_MULTIPLE, which
// `MpiLink::open` insists on, and the memory may be sent.
unsafe impl<M: Send> Send for Transfer<M> {}

impl<M> Transfer<M> {
    /// The rank at the other end.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Whether all has arrived, or was sent. Does not wait.
    ///
    /// # Errors
    /// MPI failed.
    pub(crate) fn is_done(&mut self) -> Result<bool, MpiError> {
        while let Some(request) = self.requests.last_mut() {
            let mut done = 0;
            // SAFETY: the request is one that MPI made and that was not done before.
            let code = unsafe { ffi::MPI_Test(request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
            check("MPI_Test", code)?;
            if done == 0 {
                return Ok(false);
            }
            self.requests.pop();
        }
        Ok(true)
    }

    /// The memory, if all has arrived and it was not taken before.
    ///
    /// # Errors
    /// MPI failed.
    pub(crate) fn take(&mut self) -> Result<Option<M>, MpiError> {
        Ok(if self.is_done()? { self.memory.take() } else { None })
    }
}

impl<M> Drop for Transfer<M> {
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            std::mem::forget(self.memory.take());
        }
    }
}

/// The messages that a range of bytes is cut into.
fn messages(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(MAX_MESSAGE).map(move |start| start..end.min(start + MAX_MESSAGE))
}

fn null_request() -> ffi::MPI_Request {
    // SAFETY: it is a constant of the MPI library, which is initialised when that is loaded.
    unsafe { ffi::RSMPI_REQUEST_NULL }
}

/// The error that a code stands for, with MPI's own text.
fn check(function: &'static str, code: c_int) -> Result<(), MpiError> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0u8; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut len = 0;
    // SAFETY: the buffer is as long as the longest text that MPI writes.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut len) };
    let text = text.get(..len as usize).unwrap_or_default();
    Err(MpiError::Failed { function, reason: String::from_utf8_lossy(text).into_owned() })
}
