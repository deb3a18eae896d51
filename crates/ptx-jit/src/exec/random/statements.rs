//! Random statements: straight code, branches, loops, and what the threads of a block do together.

use std::fmt::Write;

use super::kernel::PREDICATES;
use super::tape::Tape;

/// Writes the body of a kernel.
pub(super) struct Writer<'a> {
    pub(super) tape: Tape<'a>,
    pub(super) text: String,
    labels: usize,
    /// Whether threads may end early; then they do nothing together.
    exits: bool,
}

/// The surroundings of a statement, which say what it may do.
#[derive(Clone, Copy)]
struct Place<'l> {
    depth: usize,
    /// Whether all threads of a block come here together.
    together: bool,
    /// The ends of the loops around it, innermost last.
    loops: &'l [usize],
}

/// Statements are nested so deep at most.
const DEPTH: usize = 4;

/// A kernel has so many labels at most, which bounds its size.
const LABELS: usize = 40;

impl<'a> Writer<'a> {
    pub(super) fn new(mut tape: Tape<'a>) -> Writer<'a> {
        let exits = tape.once_in(5);
        Writer { tape, text: String::new(), labels: 0, exits }
    }

    pub(super) fn body(&mut self) {
        let place = Place { depth: 0, together: true, loops: &[] };
        while !self.tape.is_at_end() {
            self.statement(place);
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    pub(super) fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn block(&mut self, place: Place<'_>) {
        for _ in 0..=self.tape.below(4) {
            self.statement(place);
        }
    }

    fn statement(&mut self, place: Place<'_>) {
        let may_nest = place.depth < DEPTH && self.labels < LABELS;
        match self.tape.below(16) {
            0..7 => self.straight(),
            7 | 8 if may_nest => self.branch(place),
            9 if may_nest => self.repeat(place),
            10 if may_nest => self.switch(place),
            11 => self.leave(place),
            12 | 13 if place.together && !self.exits => self.collective(),
            14 if !self.exits => self.alone(),
            15 => self.call(),
            _ => self.straight(),
        }
    }

    /// A predicate for a branch; whether all threads of a block agree on it.
    fn condition(&mut self, place: Place<'_>) -> (String, bool) {
        if self.tape.once_in(3) {
            let (of, bit) = (self.tape.below(2), 1 << self.tape.below(3));
            self.line(&format!("and.b32 %t0, %u{of}, {bit};\nsetp.ne.u32 %q0, %t0, 0;"));
            return ("%q0".to_owned(), place.together);
        }
        if self.tape.once_in(3) {
            let (register, word) = (self.tape.below(4), self.tape.below(40));
            self.line(&format!("setp.lt.u32 %q0, %r{register}, {word};"));
            return ("%q0".to_owned(), false);
        }
        let predicate = self.tape.below(PREDICATES);
        (format!("%p{predicate}"), false)
    }

    fn branch(&mut self, place: Place<'_>) {
        let (condition, agreed) = self.condition(place);
        let inner = Place { depth: place.depth + 1, together: agreed, ..place };
        let (other, end) = (self.label(), self.label());
        let negated = self.tape.one_of(&["", "!"]);
        self.line(&format!("@{negated}{condition} bra L{other};"));
        self.block(inner);
        if self.tape.once_in(2) {
            self.line(&format!("bra.uni L{end};\nL{other}:"));
            self.block(inner);
        } else {
            self.line(&format!("L{other}:"));
        }
        self.line(&format!("L{end}:"));
    }

    /// A loop of at most four rounds, which count in a register of their own.
    fn repeat(&mut self, place: Place<'_>) {
        let (again, end) = (self.label(), self.label());
        let counter = place.depth;
        let together = match self.tape.below(3) {
            0 => {
                let rounds = self.tape.below(4);
                self.line(&format!("mov.u32 %c{counter}, {rounds};"));
                place.together
            }
            1 => {
                self.line(&format!("and.b32 %c{counter}, %u1, 3;"));
                place.together
            }
            _ => {
                let register = self.tape.below(8);
                self.line(&format!("and.b32 %c{counter}, %r{register}, 3;"));
                false
            }
        };
        // A break that only some threads take separates them for the rest of the loop, so nothing
        // in it is done together if there may be one.
        let breaks = self.tape.once_in(3);
        let mut loops = place.loops.to_vec();
        if breaks {
            loops.push(end);
        }
        let inner = Place { depth: place.depth + 1, together: together && !breaks, loops: &loops };
        // Jumps out of several loops would separate threads that come together after this one.
        let inner = if inner.together { Place { loops: &[], ..inner } } else { inner };
        if self.tape.once_in(2) {
            self.line(&format!("L{again}:\nsetp.eq.u32 %q1, %c{counter}, 0;\n@%q1 bra L{end};"));
            self.line(&format!("sub.u32 %c{counter}, %c{counter}, 1;"));
            self.block(inner);
            self.line(&format!("bra.uni L{again};\nL{end}:"));
        } else {
            self.line(&format!("L{again}:"));
            self.block(inner);
            self.line(&format!("setp.ne.u32 %q1, %c{counter}, 0;"));
            self.line(&format!("sub.u32 %c{counter}, %c{counter}, 1;"));
            self.line(&format!("@%q1 bra L{again};\nL{end}:"));
        }
    }

    fn switch(&mut self, place: Place<'_>) {
        let cases: Vec<usize> = (0..3).map(|_| self.label()).collect();
        let end = self.label();
        let uniform = self.tape.once_in(3);
        let of = if uniform { "%u1".to_owned() } else { format!("%r{}", self.tape.below(8)) };
        let names: Vec<String> = cases.iter().map(|case| format!("L{case}")).collect();
        self.line(&format!("and.b32 %t0, {of}, 3;\nsetp.gt.u32 %q0, %t0, 2;\n@%q0 bra L{end};"));
        self.line(&format!("T{end}: .branchtargets {};", names.join(", ")));
        self.line(&format!("brx.idx %t0, T{end};"));
        let inner = Place { depth: place.depth + 1, together: uniform && place.together, ..place };
        for case in cases {
            self.line(&format!("L{case}:"));
            self.block(inner);
            if self.tape.once_in(2) {
                self.line(&format!("bra.uni L{end};"));
            }
        }
        self.line(&format!("L{end}:"));
    }

    /// Out of a loop, or out of the kernel.
    fn leave(&mut self, place: Place<'_>) {
        if let Some(choices) = (!place.loops.is_empty()).then_some(place.loops) {
            let end = self.tape.one_of(choices);
            let (condition, _) = self.condition(place);
            self.line(&format!("@{condition} bra L{end};"));
        } else if self.exits {
            let (condition, _) = self.condition(place);
            let way = self.tape.one_of(&["bra END", "ret", "exit"]);
            self.line(&format!("@{condition} {way};"));
        }
    }

    fn call(&mut self) {
        let (a, b, to) = (self.tape.below(8), self.tape.below(8), self.tape.below(8));
        self.line(&format!(
            "{{\n.param .b32 pa;\n.param .b32 pb;\n.param .b32 pr;\n\
             st.param.b32 [pa], %r{a};\nst.param.b32 [pb], %r{b};\n\
             call.uni (pr), mix, (pa, pb);\nld.param.b32 %r{to}, [pr];\n}}"
        ));
    }
}
