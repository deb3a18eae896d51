//! Random statements without branches.

use super::kernel::{FLOATS, LONGS, PREDICATES, WORDS};
use super::statements::Writer;

impl Writer<'_> {
    /// A statement of a thread alone.
    pub(super) fn straight(&mut self) {
        let guard = match self.tape.once_in(5) {
            true => format!("@{}%p{} ", self.tape.one_of(&["", "!"]), self.tape.below(PREDICATES)),
            false => String::new(),
        };
        match self.tape.below(12) {
            0..3 => self.integer(&guard),
            3 => self.bits(&guard),
            4 | 5 => self.float(&guard),
            6 => self.long(&guard),
            7 => self.compare(),
            8 => self.convert(&guard),
            9 => self.load(&guard),
            10 => self.own(&guard),
            _ => self.special(&guard),
        }
    }

    fn word_register(&mut self) -> String {
        format!("%r{}", self.tape.below(WORDS))
    }

    /// A register, or a constant.
    fn word_source(&mut self) -> String {
        match self.tape.once_in(4) {
            true => self.tape.word().to_string(),
            false => self.word_register(),
        }
    }

    fn float_register(&mut self) -> String {
        format!("%f{}", self.tape.below(FLOATS))
    }

    fn long_register(&mut self) -> String {
        format!("%d{}", self.tape.below(LONGS))
    }

    fn integer(&mut self, guard: &str) {
        let (to, a, b) = (self.word_register(), self.word_register(), self.word_source());
        let op = self.tape.one_of(&[
            "add.s32",
            "sub.s32",
            "mul.lo.s32",
            "min.s32",
            "max.u32",
            "min.u32",
            "max.s32",
            "mul.hi.u32",
            "mul.hi.s32",
            "rem.u32",
            "div.u32",
            "div.s32",
            "rem.s32",
            "mad.lo.s32",
            "sad.u32",
            "mul24.lo.u32",
            "add.sat.s32",
            "abs.s32",
            "neg.s32",
        ]);
        match op {
            "mad.lo.s32" | "sad.u32" => {
                let c = self.word_register();
                self.line(&format!("{guard}{op} {to}, {a}, {b}, {c};"));
            }
            "abs.s32" | "neg.s32" => self.line(&format!("{guard}{op} {to}, {a};")),
            _ => self.line(&format!("{guard}{op} {to}, {a}, {b};")),
        }
    }

    fn bits(&mut self, guard: &str) {
        let (to, a, b) = (self.word_register(), self.word_register(), self.word_source());
        let c = self.word_register();
        let predicate = self.tape.below(PREDICATES);
        let line = match self.tape.below(14) {
            0 => format!("and.b32 {to}, {a}, {b}"),
            1 => format!("or.b32 {to}, {a}, {b}"),
            2 => format!("xor.b32 {to}, {a}, {b}"),
            3 => format!("shl.b32 {to}, {a}, {b}"),
            4 => format!("shr.u32 {to}, {a}, {b}"),
            5 => format!("shr.s32 {to}, {a}, {b}"),
            6 => format!("not.b32 {to}, {a}"),
            7 => format!("lop3.b32 {to}, {a}, {b}, {c}, 0x96"),
            8 => format!("shf.l.wrap.b32 {to}, {a}, {b}, {c}"),
            9 => format!("prmt.b32 {to}, {a}, {b}, {c}"),
            10 => format!("popc.b32 {to}, {a}"),
            11 => format!("clz.b32 {to}, {a}"),
            12 => format!("bfe.u32 {to}, {a}, {b}, {c}"),
            _ => format!("selp.b32 {to}, {a}, {b}, %p{predicate}"),
        };
        self.line(&format!("{guard}{line};"));
    }

    fn float(&mut self, guard: &str) {
        let (to, a, b) = (self.float_register(), self.float_register(), self.float_register());
        let c = self.float_register();
        let line = match self.tape.below(13) {
            0 => format!("add.rn.f32 {to}, {a}, {b}"),
            1 => format!("sub.f32 {to}, {a}, {b}"),
            2 => format!("mul.f32 {to}, {a}, {b}"),
            3 => format!("fma.rn.f32 {to}, {a}, {b}, {c}"),
            4 => format!("min.f32 {to}, {a}, {b}"),
            5 => format!("max.NaN.f32 {to}, {a}, {b}"),
            6 => format!("div.rn.f32 {to}, {a}, {b}"),
            7 => format!("sqrt.rn.f32 {to}, {a}"),
            8 => format!("add.ftz.f32 {to}, {a}, {b}"),
            9 => format!("ex2.approx.ftz.f32 {to}, {a}"),
            10 => format!("neg.f32 {to}, {a}"),
            11 => format!("fma.rz.f32 {to}, {a}, {b}, {c}"),
            _ => format!("mul.sat.f32 {to}, {a}, {b}"),
        };
        self.line(&format!("{guard}{line};"));
    }

    fn long(&mut self, guard: &str) {
        let (to, a, b) = (self.long_register(), self.long_register(), self.long_register());
        let (word, other) = (self.word_register(), self.word_source());
        let line = match self.tape.below(10) {
            0 => format!("add.s64 {to}, {a}, {b}"),
            1 => format!("mul.lo.s64 {to}, {a}, {b}"),
            2 => format!("mul.wide.s32 {to}, {word}, {other}"),
            3 => format!("mul.wide.u32 {to}, {word}, {other}"),
            4 => format!("cvt.s64.s32 {to}, {word}"),
            5 => format!("cvt.u64.u32 {to}, {word}"),
            6 => format!("mad.wide.s32 {to}, {word}, {other}, {a}"),
            7 => format!("shr.u64 {to}, {a}, {word}"),
            8 => format!("xor.b64 {to}, {a}, {b}"),
            _ => format!("min.s64 {to}, {a}, {b}"),
        };
        self.line(&format!("{guard}{line};"));
    }

    fn compare(&mut self) {
        let to = self.tape.below(PREDICATES);
        let relation = self.tape.one_of(&["lt", "ge", "eq", "ne", "gt", "le"]);
        let line = match self.tape.below(6) {
            0 | 1 => {
                let ty = self.tape.one_of(&["s32", "u32"]);
                let (a, b) = (self.word_register(), self.word_source());
                format!("setp.{relation}.{ty} %p{to}, {a}, {b}")
            }
            2 => {
                let (a, b) = (self.float_register(), self.float_register());
                format!("setp.{relation}u.f32 %p{to}, {a}, {b}")
            }
            3 => {
                let (a, b) = (self.long_register(), self.long_register());
                format!("setp.{relation}.s64 %p{to}, {a}, {b}")
            }
            4 => {
                let (a, b) = (self.word_register(), self.word_source());
                let with = self.tape.below(PREDICATES);
                format!("setp.{relation}.xor.u32 %p{to}, {a}, {b}, !%p{with}")
            }
            _ => {
                let op = self.tape.one_of(&["and", "or", "xor"]);
                let (a, b) = (self.tape.below(PREDICATES), self.tape.below(PREDICATES));
                format!("{op}.pred %p{to}, %p{a}, %p{b}")
            }
        };
        self.line(&format!("{line};"));
    }

    fn convert(&mut self, guard: &str) {
        let (word, float, long) =
            (self.word_register(), self.float_register(), self.long_register());
        let line = match self.tape.below(10) {
            0 => format!("cvt.rn.f32.s32 {float}, {word}"),
            1 => format!("cvt.rzi.s32.f32 {word}, {float}"),
            2 => format!("cvt.u32.u64 {word}, {long}"),
            3 => format!("mov.b32 {word}, {float}"),
            4 => format!("mov.b32 {float}, {word}"),
            5 => format!("cvt.s32.s8 {word}, {word}"),
            6 => format!("cvt.rni.u32.f32 {word}, {float}"),
            7 => format!("cvt.rn.f32.u64 {float}, {long}"),
            8 => {
                self.line(&format!("cvt.rn.f16.f32 %h0, {float};"));
                format!("cvt.f32.f16 {float}, %h0")
            }
            _ => {
                self.line(&format!("mov.b32 {{%h0, %h1}}, {word};\nadd.s16 %h1, %h1, %h0;"));
                format!("mov.b32 {word}, {{%h1, %h0}}")
            }
        };
        self.line(&format!("{guard}{line};"));
    }

    /// A load from the input: at an index that is affine in the thread, or any other.
    fn load(&mut self, guard: &str) {
        let index = self.tape.one_of(&["%r0", "%r1", "%ltid", "%u0", "%r5", "%r7", "%r4"]);
        let to = self.word_register();
        let offset = self.tape.below(64);
        self.line(&format!("add.u32 %t0, {index}, {offset};\nand.b32 %t0, %t0, 255;"));
        match self.tape.below(5) {
            0 => {
                self.line("and.b32 %t0, %t0, 254;\nmul.wide.u32 %w0, %t0, 4;");
                self.line("add.s64 %w0, %in, %w0;\nld.global.v2.b32 {%t1, %t2}, [%w0];");
                self.line(&format!("{guard}add.s32 {to}, %t1, %t2;"));
            }
            1 => {
                self.line("cvt.u64.u32 %w0, %t0;\nadd.s64 %w0, %in, %w0;");
                self.line(&format!("{guard}ld.global.s8 {to}, [%w0];"));
            }
            2 => {
                let float = self.float_register();
                self.line("mul.wide.u32 %w0, %t0, 4;\nadd.s64 %w0, %in, %w0;");
                self.line(&format!("{guard}ld.global.nc.f32 {float}, [%w0];"));
            }
            _ => {
                self.line("mul.wide.u32 %w0, %t0, 4;\nadd.s64 %w0, %in, %w0;");
                self.line(&format!("{guard}ld.global.b32 {to}, [%w0];"));
            }
        }
    }

    /// Memory of the thread's own, local and global, at an index that may vary.
    fn own(&mut self, guard: &str) {
        let (index, value) = (self.word_register(), self.word_register());
        self.line(&format!("and.b32 %t0, {index}, 3;\nmul.wide.u32 %w0, %t0, 4;"));
        match self.tape.below(6) {
            0 => {
                self.line("mov.u64 %w1, array;\nadd.s64 %w0, %w0, %w1;");
                self.line(&format!("{guard}st.local.b32 [%w0], {value};"));
            }
            1 => {
                self.line("mov.u64 %w1, array;\nst.local.v2.b32 [%w1], {%r0, %r1};");
                self.line("st.local.v2.b32 [%w1+8], {%r2, %r3};\nadd.s64 %w0, %w0, %w1;");
                self.line(&format!("{guard}ld.local.b32 {value}, [%w0];"));
            }
            2 => self.line(&format!("{guard}st.global.v2.b32 [%own+80], {{{value}, {index}}};")),
            3 => {
                self.line("add.s64 %w0, %own, %w0;");
                self.line(&format!("{guard}ld.global.b32 {value}, [%w0+80];"));
            }
            4 => {
                let op = self.tape.one_of(&["add.u32", "max.u32", "xor.b32"]);
                let counter = self.tape.below(8) * 4;
                let (op, ty) = op.split_once('.').unwrap_or((op, "u32"));
                // Counters are combined with one operation each, so that order does not matter.
                let at = match op {
                    "add" => counter % 12,
                    "max" => 12 + counter % 8,
                    _ => 20 + counter % 12,
                };
                self.line(&format!("{guard}red.global.{op}.{ty} [%counters+{at}], {value};"));
            }
            _ => {
                self.line("add.s64 %w0, %own, %w0;");
                self.line(&format!("{guard}st.global.b32 [%w0+80], {value};"));
            }
        }
    }

    fn special(&mut self, guard: &str) {
        let to = self.word_register();
        let from = self.tape.one_of(&[
            "%tid.x",
            "%tid.y",
            "%tid.z",
            "%ctaid.x",
            "%ntid.x",
            "%laneid",
            "%nctaid.y",
            "%lanemask_lt",
            "%ltid",
            "%gtid",
            "%u1",
            "%warpid",
        ]);
        self.line(&format!("{guard}mov.u32 {to}, {from};"));
    }
}
