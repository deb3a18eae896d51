//! A form of an instruction with what it should compute, and the kernel that checks it.

use std::fmt::Write;

use ptx::Rounding;

use super::value::{Kind, Value, tuples};
use crate::exec::tests::harness::{Argument, Device, at_each_level};

/// The rounding modes, by their modifiers.
pub(super) const ROUNDING_MODES: [(&str, Rounding); 4] = [
    ("rn", Rounding::Nearest),
    ("rz", Rounding::TowardZero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

/// A form of an instruction, and its meaning.
pub(crate) struct Form {
    pub(crate) opcode: String,
    pub(crate) operands: Vec<Kind>,
    pub(crate) result: Kind,
    expected: Meaning,
}

/// From the bits of the operands to those of the result.
type Meaning = Box<dyn Fn(&[u64]) -> u64>;

/// An instruction with one source.
pub(super) fn unary<A: Value, R: Value>(opcode: &str, meaning: impl Fn(A) -> R + 'static) -> Form {
    Form::new(opcode, &[A::KIND], R::KIND, move |x| meaning(A::from_bits(x[0])).into_bits())
}

/// An instruction with two sources.
pub(super) fn binary<A: Value, B: Value, R: Value>(
    opcode: &str,
    meaning: impl Fn(A, B) -> R + 'static,
) -> Form {
    Form::new(opcode, &[A::KIND, B::KIND], R::KIND, move |x| {
        meaning(A::from_bits(x[0]), B::from_bits(x[1])).into_bits()
    })
}

/// An instruction with three sources.
pub(super) fn ternary<A: Value, B: Value, C: Value, R: Value>(
    opcode: &str,
    meaning: impl Fn(A, B, C) -> R + 'static,
) -> Form {
    Form::new(opcode, &[A::KIND, B::KIND, C::KIND], R::KIND, move |x| {
        meaning(A::from_bits(x[0]), B::from_bits(x[1]), C::from_bits(x[2])).into_bits()
    })
}

impl Form {
    pub(super) fn new(
        opcode: &str,
        operands: &[Kind],
        result: Kind,
        expected: impl Fn(&[u64]) -> u64 + 'static,
    ) -> Form {
        let expected = Box::new(expected);
        Form { opcode: opcode.to_owned(), operands: operands.to_vec(), result, expected }
    }

    /// What the instruction should give for some operands.
    pub(crate) fn expected(&self, operands: &[u64]) -> u64 {
        (self.expected)(operands)
    }

    /// A kernel that applies the instruction to one tuple per thread.
    pub(super) fn kernel(&self, name: &str) -> String {
        let mut text = format!(".visible .entry {name}(.param .u64 out");
        for index in 0..self.operands.len() {
            let _ = write!(text, ", .param .u64 in{index}");
        }
        text.push_str(
            ") {\n.reg .b64 %p, %i, %o; .reg .b32 %t, %n, %c; .reg .pred %d_1; .reg .b32 %d_32;\n\
             .reg .b16 %d_16; .reg .b64 %d_64; .reg .f32 %d_f32; .reg .f64 %d_f64;\n\
             mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %c, %ctaid.x;\n\
             mad.lo.u32 %t, %c, %n, %t; cvt.u64.u32 %i, %t;\n",
        );
        let mut operands = String::new();
        for (index, kind) in self.operands.iter().enumerate() {
            let (bits, ty) = (kind.bits().max(8), register_type(*kind));
            let _ = writeln!(
                text,
                ".reg .{ty} %x{index}; ld.param.u64 %p, [in{index}]; mul.lo.u64 %o, %i, {}; \
                 add.u64 %p, %p, %o; ld.global.{} %x{index}, [%p];",
                bits / 8,
                if matches!(kind, Kind::F32 | Kind::F64) {
                    ty.to_owned()
                } else {
                    format!("b{bits}")
                },
            );
            let _ = write!(operands, ", %x{index}");
        }
        let result = match self.result {
            Kind::F32 => "%d_f32".to_owned(),
            Kind::F64 => "%d_f64".to_owned(),
            kind => format!("%d_{}", kind.bits()),
        };
        let _ = writeln!(text, "{} {result}{operands};", self.opcode);
        let (store, value) = match self.result {
            Kind::Predicate => {
                ("selp.u32 %d_32, 1, 0, %d_1; st.global.u32 [%p], ", "%d_32".to_owned())
            }
            Kind::F32 => ("st.global.f32 [%p], ", result),
            Kind::F64 => ("st.global.f64 [%p], ", result),
            kind if kind.bits() == 16 => ("st.global.b16 [%p], ", result),
            kind if kind.bits() == 32 => ("st.global.b32 [%p], ", result),
            _ => ("st.global.b64 [%p], ", result),
        };
        let _ = writeln!(
            text,
            "ld.param.u64 %p, [out]; mul.lo.u64 %o, %i, {}; add.u64 %p, %p, %o;\n\
             {store}{value};\nret;\n}}",
            self.result_bytes(),
        );
        text
    }

    pub(super) fn result_bytes(&self) -> usize {
        if self.result == Kind::Predicate { 4 } else { self.result.bits() as usize / 8 }
    }

    /// What the instruction gives for some tuples.
    pub(super) fn run(&self, device: &mut Device, name: &str, tuples: &[Vec<u64>]) -> Vec<u64> {
        let out = device.allocate(tuples.len() * self.result_bytes());
        let mut places = vec![out];
        for (index, kind) in self.operands.iter().enumerate() {
            let bytes = kind.bits() as usize / 8;
            let column: Vec<u8> = tuples
                .iter()
                .flat_map(|tuple| tuple[index].to_le_bytes()[..bytes].to_vec())
                .collect();
            places.push(device.upload(&column));
        }
        let arguments: Vec<&dyn Argument> = places.iter().map(|place| place as _).collect();
        let blocks = (tuples.len() / 128) as u32;
        let result = device.launch(name, [blocks, 1, 1], [128, 1, 1], 0, &arguments);
        result.unwrap_or_else(|fault| panic!("{}: {fault}", self.opcode));
        let raw: Vec<u8> = device.download(out);
        let value =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        raw.chunks_exact(self.result_bytes()).map(value).collect()
    }

    fn check(&self, device: &mut Device, name: &str) {
        let tuples = tuples(&self.operands, 1536);
        for (tuple, got) in tuples.iter().zip(self.run(device, name, &tuples)) {
            let expected = (self.expected)(tuple);
            // Which NaN a 64-bit operation gives depends on its operands, and is left open.
            let both_nan = self.result == Kind::F64
                && f64::from_bits(got).is_nan()
                && f64::from_bits(expected).is_nan();
            assert!(
                got == expected || both_nan,
                "{} {tuple:x?}: {got:#x} instead of {expected:#x}",
                self.opcode,
            );
        }
    }
}

/// The kernels of some forms as one module.
pub(crate) fn module(forms: &[Form]) -> String {
    let mut text = ".version 7.8\n.target sm_75\n.address_size 64\n".to_owned();
    for (index, form) in forms.iter().enumerate() {
        text += &form.kernel(&format!("form{index}"));
    }
    text
}

/// Checks forms against their meanings, in lockstep and thread at a time.
pub(super) fn check(forms: &[Form]) {
    at_each_level(&module(forms), |device| {
        for (index, form) in forms.iter().enumerate() {
            device.reset();
            form.check(device, &format!("form{index}"));
        }
    });
}

fn register_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Predicate => "pred",
        Kind::F32 => "f32",
        Kind::F64 => "f64",
        kind if kind.bits() == 16 => "b16",
        kind if kind.bits() == 32 => "b32",
        _ => "b64",
    }
}
