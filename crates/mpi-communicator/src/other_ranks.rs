//! The other ranks of a group: the operations that they are in, and whether they have ended.

use std::collections::VecDeque;

use crate::error::MpiError;
use crate::link::{MessageTag, MpiLink, Transfer};
use crate::notice::{NOTICE_BYTES, Notice, RankAbort};

/// The other ranks, in their order.
pub(crate) struct OtherRanks {
    list: Vec<OtherRank>,
}

struct OtherRank {
    rank: usize,
    /// The next message of this rank; none after the last one.
    next: Option<Transfer<Vec<u8>>>,
    /// The operations that it is in and this process is not yet.
    calls: VecDeque<String>,
    ending: Option<Ending>,
}

enum Ending {
    Left,
    Aborted(RankAbort),
}

impl OtherRanks {
    /// # Errors
    /// MPI failed.
    pub(crate) fn of(link: &MpiLink) -> Result<OtherRanks, MpiError> {
        let member = |rank| {
            let next = Some(link.receive(rank, MessageTag::Notice, NOTICE_BYTES)?);
            Ok(OtherRank { rank, next, calls: VecDeque::new(), ending: None })
        };
        Ok(OtherRanks { list: link.others().map(member).collect::<Result<_, _>>()? })
    }

    /// Takes in the messages that have arrived.
    ///
    /// # Errors
    /// MPI failed.
    pub(crate) fn listen(&mut self, link: &MpiLink) -> Result<(), MpiError> {
        self.list.iter_mut().try_for_each(|member| member.listen(link))
    }

    /// The ranks that are in no operation that this process is not in.
    pub(crate) fn without_call(&self) -> Vec<usize> {
        self.ranks(|member| member.calls.is_empty())
    }

    /// The ranks that have not ended.
    pub(crate) fn present(&self) -> Vec<usize> {
        self.ranks(|member| member.ending.is_none())
    }

    /// The next operation of each rank that is in one.
    pub(crate) fn take_calls(&mut self) -> Vec<(usize, String)> {
        let calls = self.list.iter_mut();
        calls.filter_map(|member| Some((member.rank, member.calls.pop_front()?))).collect()
    }

    /// An abort that a rank has told of.
    pub(crate) fn aborted(&self) -> Option<&RankAbort> {
        self.list.iter().find_map(|member| match &member.ending {
            Some(Ending::Aborted(abort)) => Some(abort),
            _ => None,
        })
    }

    /// A rank that has left, and has called no operation that this process has not called.
    pub(crate) fn left(&self) -> Option<usize> {
        let has_left = |member: &&OtherRank| {
            member.calls.is_empty() && matches!(member.ending, Some(Ending::Left))
        };
        self.list.iter().find(has_left).map(|member| member.rank)
    }

    fn ranks(&self, is_one: impl Fn(&OtherRank) -> bool) -> Vec<usize> {
        self.list.iter().filter(|member| is_one(member)).map(|member| member.rank).collect()
    }
}

impl OtherRank {
    fn listen(&mut self, link: &MpiLink) -> Result<(), MpiError> {
        while let Some(next) = &mut self.next
            && let Some(bytes) = next.take()?
            && let Ok(bytes) = <Box<[u8; NOTICE_BYTES]>>::try_from(bytes)
        {
            self.next = None;
            match Notice::decode(&bytes) {
                Notice::Call(call) => self.calls.push_back(call),
                Notice::Leave => self.ending = Some(Ending::Left),
                Notice::Abort(abort) => self.ending = Some(Ending::Aborted(abort)),
            }
            if self.ending.is_none() {
                self.next = Some(link.receive(self.rank, MessageTag::Notice, NOTICE_BYTES)?);
            }
        }
        Ok(())
    }
}
