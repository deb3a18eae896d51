//! Random statements that threads execute together.

use super::kernel::PREDICATES;
use super::statements::Writer;

impl Writer<'_> {
    /// A barrier, an exchange through shared memory, or an operation of all lanes; only where all
    /// threads of the block come.
    pub(super) fn collective(&mut self) {
        match self.tape.below(5) {
            0 => self.exchange(),
            1 => {
                let (to, from) = (self.tape.below(8), self.tape.below(PREDICATES));
                let op = self.tape.one_of(&["popc.u32", "and.pred", "or.pred"]);
                if op == "popc.u32" {
                    self.line(&format!("bar.red.popc.u32 %r{to}, 0, %p{from};"));
                } else {
                    self.line(&format!("bar.red.{op} %p{from}, 0, %p{from};"));
                }
            }
            2 => self.agreeing(),
            _ => self.warp("0xffffffff"),
        }
    }

    /// Each thread leaves a word in shared memory, and takes another's.
    fn exchange(&mut self) {
        let (value, to, distance) = (self.tape.below(8), self.tape.below(8), self.tape.below(128));
        self.line("mov.u64 %w1, tile;\nmul.wide.u32 %w0, %ltid, 4;\nadd.s64 %w0, %w1, %w0;");
        self.line(&format!("st.shared.b32 [%w0], %r{value};\nbar.sync 0;"));
        match self.tape.below(3) {
            0 => self.line(&format!("add.u32 %t0, %ltid, {distance};\nrem.u32 %t0, %t0, %ntid;")),
            1 => self.line("not.b32 %t0, %ltid;\nadd.u32 %t0, %t0, %ntid;"),
            _ => self.line(&format!("rem.u32 %t0, %r{to}, %ntid;")),
        }
        self.line("mul.wide.u32 %w0, %t0, 4;\nadd.s64 %w0, %w1, %w0;");
        self.line(&format!("ld.shared.b32 %r{to}, [%w0];\nbar.sync 0;"));
    }

    /// An operation of the lanes of a warp that are in a mask.
    fn warp(&mut self, mask: &str) {
        let (to, from, predicate) =
            (self.tape.below(8), self.tape.below(8), self.tape.below(PREDICATES));
        let lane = self.tape.below(32);
        let line = match self.tape.below(10) {
            0 => format!("shfl.sync.bfly.b32 %r{to}|%p{predicate}, %r{from}, {lane}, 31, {mask}"),
            1 => format!("shfl.sync.down.b32 %r{to}, %r{from}, {lane}, 31, {mask}"),
            2 => format!("shfl.sync.up.b32 %r{to}, %r{from}, {lane}, 0, {mask}"),
            3 => format!("shfl.sync.idx.b32 %r{to}|%p{predicate}, %r{from}, {lane}, 31, {mask}"),
            4 => format!("shfl.sync.idx.b32 %r{to}, %r{from}, %r{to}, 0x1807, {mask}"),
            5 => format!("vote.sync.ballot.b32 %r{to}, %p{predicate}, {mask}"),
            6 => {
                let mode = self.tape.one_of(&["all", "any", "uni"]);
                format!("vote.sync.{mode}.pred %p{predicate}, %p{predicate}, {mask}")
            }
            7 => {
                let op = self.tape.one_of(&["add.u32", "min.s32", "max.u32", "xor.b32"]);
                format!("redux.sync.{op} %r{to}, %r{from}, {mask}")
            }
            8 => format!("match.any.sync.b32 %r{to}, %r{from}, {mask}"),
            _ => format!("bar.warp.sync {mask}"),
        };
        self.line(&format!("{line};"));
    }

    /// An operation of a warp in which a lane is alone, wherever it is.
    pub(super) fn alone(&mut self) {
        let (to, from) = (self.tape.below(8), self.tape.below(8));
        self.line("mov.u32 %t4, %lanemask_eq;");
        match self.tape.below(3) {
            0 => self.line("bar.warp.sync %t4;"),
            1 => self.line(&format!("redux.sync.add.u32 %r{to}, %r{from}, %t4;")),
            _ => self.line(&format!("shfl.sync.idx.b32 %r{to}, %r{from}, %laneid, 31, %t4;")),
        }
    }

    /// An operation of the lanes that agree on a predicate.
    fn agreeing(&mut self) {
        let predicate = self.tape.below(PREDICATES);
        let end = self.label();
        self.line(&format!("vote.sync.ballot.b32 %t4, %p{predicate}, 0xffffffff;"));
        self.line(&format!("@!%p{predicate} bra L{end};"));
        self.warp("%t4");
        self.line(&format!("L{end}:"));
    }
}
