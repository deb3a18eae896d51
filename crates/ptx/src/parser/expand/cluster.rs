//! Clusters, which have one block each here, and other instructions that are simple on a machine
//! like this: `elect.sync`, `createpolicy`.

use super::{Draft, Parser, Site};
use crate::ast::{Operand, SpecialRegister};
use crate::error::{Error, ErrorKind};
use crate::lexer::TokenKind;
use crate::operation::{BitsForm, BitsOp, CompareForm, Comparison, Operation};
use crate::suspension::{BarrierOp, CLUSTER_BARRIER, Suspension};
use crate::types::RegisterType;
use crate::types::ScalarType::{self, B32, B64, Pred, U32, U64};

impl<'s> Parser<'s> {
    /// `elect.sync d|p, mask`: the lowest member leads.
    pub(super) fn elect(&mut self, draft: &mut Draft<'s>, site: Site) -> Result<(), Error> {
        let leader = self.result(draft, B32, false)?;
        self.cursor.expect(b'|', "`|`")?;
        let elected = self.result(draft, Pred, false)?;
        self.cursor.expect(b',', "`,`")?;
        let mask = self.value(draft, B32, false)?;
        draft.emit(site, Operation::Suspend(Suspension::WarpBarrier), &[], &[mask]);
        let [reversed, lowest] = [(); 2].map(|()| draft.temporary(RegisterType::Bits32));
        let reverse = Operation::Bits(BitsForm { op: BitsOp::Reverse, ty: B32 });
        draft.emit(site, reverse, &[Some(reversed)], &[mask]);
        let count = Operation::Bits(BitsForm { op: BitsOp::LeadingZeros, ty: B32 });
        draft.emit(site, count, &[Some(lowest)], &[Operand::Register(reversed)]);
        let lowest = Operand::Register(lowest);
        draft.copy(site, B32, leader, lowest);
        let form = CompareForm {
            comparison: Comparison::Equal,
            ty: U32,
            ftz: false,
            combine: None,
            result: Pred,
        };
        let lane = Operand::Special(SpecialRegister::Lane);
        draft.emit(site, Operation::Compare(form), &[elected, None], &[lowest, lane]);
        Ok(())
    }

    /// `barrier.cluster.arrive` and `barrier.cluster.wait`: a cluster's threads are a block's, and
    /// those that wait are those that have arrived.
    pub(super) fn cluster_barrier(
        &mut self,
        draft: &mut Draft<'s>,
        modifiers: &str,
        site: Site,
    ) -> Result<(), Error> {
        let mut words = modifiers.split('.').skip(1);
        let waits = match words.next() {
            Some("arrive") => false,
            Some("wait") => true,
            _ => return Err(self.cursor.last_error(ErrorKind::UnsupportedInstruction)),
        };
        if let Some(word) =
            words.find(|word| !["release", "relaxed", "acquire", "aligned"].contains(word))
        {
            let kind = ErrorKind::UnsupportedModifier(word.to_owned());
            return Err(self.cursor.last_error(kind));
        }
        if waits {
            let barrier = Operation::Suspend(Suspension::Barrier(BarrierOp::Sync));
            let all = Operand::Immediate(0);
            draft.emit(site, barrier, &[], &[Operand::Immediate(CLUSTER_BARRIER), all]);
        } else {
            draft.emit(site, Operation::Fence, &[], &[]);
        }
        Ok(())
    }

    /// `mapa d, a, rank`: the same address, in the only block.
    pub(super) fn map_to_block(
        &mut self,
        draft: &mut Draft<'s>,
        modifiers: &str,
        site: Site,
    ) -> Result<(), Error> {
        let ty = self.address_type(modifiers)?;
        let result = self.result(draft, ty, false)?;
        self.cursor.expect(b',', "`,`")?;
        let address = match self.address_of(draft, ty)? {
            Some(address) => address,
            None => self.value(draft, ty, false)?,
        };
        self.cursor.expect(b',', "`,`")?;
        self.value(draft, U32, false)?;
        draft.copy(site, ty, result, address);
        Ok(())
    }

    /// `getctarank d, a`: the rank of the only block.
    pub(super) fn rank_of_address(
        &mut self,
        draft: &mut Draft<'s>,
        modifiers: &str,
        site: Site,
    ) -> Result<(), Error> {
        let ty = self.address_type(modifiers)?;
        let result = self.result(draft, U32, false)?;
        self.cursor.expect(b',', "`,`")?;
        if self.address_of(draft, ty)?.is_none() {
            self.value(draft, ty, false)?;
        }
        draft.copy(site, U32, result, Operand::Immediate(0));
        Ok(())
    }

    fn address_type(&self, modifiers: &str) -> Result<ScalarType, Error> {
        match modifiers.strip_prefix("shared::cluster.").unwrap_or(modifiers) {
            "u32" => Ok(U32),
            "u64" => Ok(U64),
            _ => Err(self.cursor.last_error(ErrorKind::UnsupportedInstruction)),
        }
    }

    /// `createpolicy`, whose result only tells caches something.
    pub(super) fn cache_policy(&mut self, draft: &mut Draft<'s>, site: Site) -> Result<(), Error> {
        let result = self.result(draft, B64, false)?;
        let mut depth = 0;
        while depth > 0 || !self.cursor.at(b';') {
            match self.cursor.next().kind {
                TokenKind::Punctuation(b'[') => depth += 1,
                TokenKind::Punctuation(b']') => depth -= 1,
                TokenKind::End => return Err(self.cursor.error(ErrorKind::Expected("`;`"))),
                _ => {}
            }
        }
        draft.copy(site, B64, result, Operand::Immediate(0));
        Ok(())
    }
}
