//! The group of all processes: operations that all ranks agree on, waits that end, and the end.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tensor::Result;

use crate::error::MpiError;
use crate::link::{MessageTag, MpiLink, SharedBytes, Transfer};
use crate::notice::{Notice, RankAbort};
use crate::operation::RunningOperation;
use crate::other_ranks::OtherRanks;
use crate::pause::Pause;

/// The time for which a process that ends after an error waits for the others to end, too. The
/// first one that is gone makes `mpirun` kill the rest, who would not have said what they know.
const FAREWELL: Duration = Duration::from_secs(2);

/// All processes of the job.
pub(crate) struct ProcessGroup {
    link: MpiLink,
    timeout: Duration,
    /// Locked during an operation: those of several threads come one after the other.
    members: Mutex<OtherRanks>,
    /// Messages on their way to others.
    outbox: Mutex<Vec<Transfer<SharedBytes>>>,
    /// The first abort that this process knows of, its own or another's.
    aborted: OnceLock<RankAbort>,
}

impl ProcessGroup {
    /// # Errors
    /// As [`MpiLink::open`].
    pub(crate) fn join(timeout: Duration) -> Result<ProcessGroup, MpiError> {
        let link = MpiLink::open()?;
        let members = Mutex::new(OtherRanks::of(&link)?);
        let outbox = Mutex::new(Vec::new());
        Ok(ProcessGroup { link, timeout, members, outbox, aborted: OnceLock::new() })
    }

    pub(crate) fn rank(&self) -> usize {
        self.link.rank()
    }

    pub(crate) fn size(&self) -> usize {
        self.link.size()
    }

    /// The other ranks.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        self.link.others()
    }

    /// Runs an operation as soon as all ranks have called it, by the same name and with the same
    /// arguments.
    ///
    /// # Errors
    /// A rank called another operation, which leaves the group as it is. After any other error a
    /// rank has aborted, this one perhaps.
    pub(crate) fn run<T>(
        &self,
        name: &'static str,
        arguments: &str,
        exchange: impl FnOnce(&mut RunningOperation) -> Result<T>,
    ) -> Result<T> {
        let mut members = self.members.lock();
        let call = format!("{name} {arguments}").trim_end().to_owned();
        let result = match self.agree(name, call, &mut members) {
            Err(error @ MpiError::Disagreement { .. }) => return Err(error.into()),
            Err(error) => Err(error.into()),
            Ok(()) => exchange(&mut self.operation(name, &mut members)),
        };
        if let Err(error) = &result {
            self.abort(&error.to_string());
        }
        result
    }

    /// Waits until all ranks have called an operation, and compares it with this process's.
    fn agree(
        &self,
        name: &'static str,
        own: String,
        members: &mut OtherRanks,
    ) -> Result<(), MpiError> {
        self.post(&Notice::Call(own.clone()))?;
        self.operation(name, members).wait(|members| match members.left() {
            Some(rank) => Err(MpiError::Left { operation: name, rank }),
            None => Ok(members.without_call()),
        })?;
        // All ranks find a disagreement, as each compares with all.
        match members.take_calls().into_iter().find(|(_, others)| *others != own) {
            None => Ok(()),
            Some((other, others)) => {
                Err(MpiError::Disagreement { rank: self.rank(), own, other, others })
            }
        }
    }

    fn operation<'a>(
        &'a self,
        name: &'static str,
        members: &'a mut OtherRanks,
    ) -> RunningOperation<'a> {
        let (link, timeout, aborted) = (&self.link, self.timeout, &self.aborted);
        RunningOperation { name, link, members, timeout, aborted }
    }

    /// Tells all others that this process cannot go on, unless a rank has aborted already.
    pub(crate) fn abort(&self, reason: &str) {
        let abort = RankAbort { rank: self.rank(), reason: reason.to_owned() };
        if self.aborted.set(abort.clone()).is_ok() {
            // Who cannot be told finds out by its time-out.
            let _ = self.post(&Notice::Abort(abort));
        }
    }

    /// Tells all others that this process leaves, waits until they leave, and ends MPI. If a rank
    /// has aborted, it waits for a short time only and leaves MPI as it is: a process that ends so
    /// makes `mpirun` end the job with a status other than zero.
    pub(crate) fn leave(&mut self) {
        // An abort is handed on, so that nobody hears first that this rank has left.
        let farewell = self.aborted.get().cloned().map_or(Notice::Leave, Notice::Abort);
        if self.post(&farewell).is_err() {
            return;
        }
        let (begin, mut pause) = (Instant::now(), Pause::default());
        loop {
            let members = self.members.get_mut();
            if members.listen(&self.link).is_err() {
                return;
            }
            let is_well = self.aborted.get().is_none() && members.aborted().is_none();
            let is_over = members.present().is_empty() && all_sent(self.outbox.get_mut());
            match is_over {
                true if is_well => return self.link.finalize(),
                false if is_well || begin.elapsed() < FAREWELL => pause.pause(),
                _ => return,
            }
        }
    }

    /// Begins to send a message to all others.
    fn post(&self, notice: &Notice) -> Result<(), MpiError> {
        let mut outbox = self.outbox.lock();
        all_sent(&mut outbox);
        let bytes: SharedBytes = Arc::new(notice.encode());
        for rank in self.link.others() {
            let range = 0..bytes.bytes().len();
            outbox.push(self.link.send(rank, MessageTag::Notice, bytes.clone(), range)?);
        }
        Ok(())
    }
}

/// Forgets the messages that were sent, and says whether there is no other.
fn all_sent(outbox: &mut Vec<Transfer<SharedBytes>>) -> bool {
    outbox.retain_mut(|message| !message.is_done().unwrap_or(false));
    outbox.is_empty()
}
