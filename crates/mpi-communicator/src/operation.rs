//! An operation of all ranks while it runs: messages, and waits that end.

use std::ops::Range;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::MpiError;
use crate::link::{MessageTag, MpiLink, SharedBytes, Transfer};
use crate::notice::RankAbort;
use crate::other_ranks::OtherRanks;
use crate::pause::Pause;

/// An operation that this process is in.
pub(crate) struct RunningOperation<'a> {
    pub(crate) name: &'static str,
    pub(crate) link: &'a MpiLink,
    pub(crate) members: &'a mut OtherRanks,
    /// The longest that it waits for other ranks.
    pub(crate) timeout: Duration,
    /// The first abort that this process knows of.
    pub(crate) aborted: &'a OnceLock<RankAbort>,
}

impl RunningOperation<'_> {
    /// Sends bytes to ranks, and receives messages of as many bytes as is said from ranks, which it
    /// gives in the order of these.
    ///
    /// # Errors
    /// MPI failed, a rank aborted, or the time-out was reached.
    pub(crate) fn exchange(
        &mut self,
        sends: impl Iterator<Item = (usize, SharedBytes, Range<usize>)>,
        receives: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Vec<Vec<u8>>, MpiError> {
        let link = self.link;
        let incoming = receives.map(|(rank, len)| link.receive(rank, MessageTag::Data, len));
        let mut incoming = incoming.collect::<Result<Vec<_>, _>>()?;
        let outgoing =
            sends.map(|(rank, bytes, range)| link.send(rank, MessageTag::Data, bytes, range));
        let mut outgoing = outgoing.collect::<Result<Vec<_>, _>>()?;
        self.wait(|_| Ok([unfinished(&mut outgoing)?, unfinished(&mut incoming)?].concat()))?;
        let bytes = incoming.iter_mut().map(Transfer::take);
        Ok(bytes.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Waits until `missing` names no rank any more.
    ///
    /// # Errors
    /// MPI failed, a rank aborted, or the time-out was reached.
    pub(crate) fn wait(
        &mut self,
        mut missing: impl FnMut(&OtherRanks) -> Result<Vec<usize>, MpiError>,
    ) -> Result<(), MpiError> {
        let (operation, timeout, rank) = (self.name, self.timeout, self.link.rank());
        let (begin, mut pause) = (Instant::now(), Pause::default());
        loop {
            self.members.listen(self.link)?;
            if let Some(abort) = self.members.aborted() {
                self.aborted.get_or_init(|| abort.clone());
            }
            if let Some(RankAbort { rank, reason }) = self.aborted.get() {
                return Err(MpiError::Aborted { operation, rank: *rank, reason: reason.clone() });
            }
            let mut missing = missing(self.members)?;
            if missing.is_empty() {
                return Ok(());
            }
            if begin.elapsed() > timeout {
                missing.sort_unstable();
                missing.dedup();
                return Err(MpiError::TimedOut { operation, rank, timeout, missing });
            }
            pause.pause();
        }
    }
}

/// The ranks at the other ends of what is still on its way.
fn unfinished<M>(transfers: &mut [Transfer<M>]) -> Result<Vec<usize>, MpiError> {
    let mut ranks = Vec::new();
    for transfer in transfers {
        if !transfer.is_done()? {
            ranks.push(transfer.rank());
        }
    }
    Ok(ranks)
}
