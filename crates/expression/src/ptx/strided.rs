//! Kernels over operands of any strides.

use std::mem::offset_of;

use super::arguments::{MAX_DIMS, MagicDivisor, StridedArguments};
use super::body::{ARGUMENT, StoredExpression, base_addresses};
use super::error::PrintError;
use super::writer::{InstructionWriter, RegisterClass, VirtualRegister};
use crate::DType;

/// Writes a kernel that takes the linear index of each element apart into coordinates.
pub(super) fn write(
    w: &mut InstructionWriter,
    operands: &StoredExpression<'_>,
    dims: usize,
    is_wide: bool,
) -> Result<(), PrintError> {
    let known = operands.invariants(w, offset_of!(StridedArguments, scalars))?;
    let index = IndexType { is_wide };
    let numel = index.parameter(w, offset_of!(StridedArguments, numel));
    let walk = StridedWalk::new(w, operands, index, dims);
    let (element, threads) = index.grid_position(w);

    let (start, end) = (w.label("elements"), w.label("end"));
    let bits = index.bits();
    let is_past = w.predicate(format_args!("setp.ge.u{bits}"), &[&element, &numel]);
    w.branch_if(is_past, end);
    w.place(start);
    let addresses = walk.addresses(w, operands, element);
    operands.elements(w, &known, &addresses, 1)?;
    w.assign(element, format_args!("add.s{bits}"), &[&element, &threads]);
    let goes_on = w.predicate(format_args!("setp.lt.u{bits}"), &[&element, &numel]);
    w.branch_if(goes_on, start);
    w.place(end);
    w.line("ret");
    Ok(())
}

/// The type that indices and distances are computed in.
#[derive(Clone, Copy)]
struct IndexType {
    is_wide: bool,
}

impl IndexType {
    fn bits(self) -> usize {
        if self.is_wide { 64 } else { 32 }
    }

    fn class(self) -> RegisterClass {
        if self.is_wide { RegisterClass::B64 } else { RegisterClass::B32 }
    }

    /// A number of 64 bits of the argument, or the low half of it.
    fn parameter(self, w: &mut InstructionWriter, offset: usize) -> VirtualRegister {
        let opcode = format!("ld.param.b{}", self.bits());
        w.emit(self.class(), opcode, &[&format!("[{ARGUMENT}+{offset}]")])
    }

    /// The number of the thread in the grid, in a register that counts on, and the number of
    /// threads in the grid.
    fn grid_position(self, w: &mut InstructionWriter) -> (VirtualRegister, VirtualRegister) {
        let block = w.b32("mov.u32", &[&"%ctaid.x"]);
        let size = w.b32("mov.u32", &[&"%ntid.x"]);
        let blocks = w.b32("mov.u32", &[&"%nctaid.x"]);
        let in_block = w.b32("mov.u32", &[&"%tid.x"]);
        if self.is_wide {
            let first = w.b64("mul.wide.u32", &[&block, &size]);
            let in_block = w.b64("cvt.u64.u32", &[&in_block]);
            let thread = w.b64("add.s64", &[&first, &in_block]);
            return (thread, w.b64("mul.wide.u32", &[&blocks, &size]));
        }
        let thread = w.b32("mad.lo.s32", &[&block, &size, &in_block]);
        (thread, w.b32("mul.lo.s32", &[&blocks, &size]))
    }
}

/// Registers with what leads from an index to the operands' elements.
struct StridedWalk {
    index: IndexType,
    bases: Vec<Option<VirtualRegister>>,
    /// The strides of each operand that is used, for each dimension.
    strides: Vec<Vec<VirtualRegister>>,
    /// Size and divisor of each dimension but the outermost, which gets what is left.
    dimensions: Vec<(VirtualRegister, Option<[VirtualRegister; 2]>)>,
}

impl StridedWalk {
    fn new(
        w: &mut InstructionWriter,
        operands: &StoredExpression<'_>,
        index: IndexType,
        dims: usize,
    ) -> StridedWalk {
        let bases = base_addresses(w, operands, offset_of!(StridedArguments, addresses));
        let strides_of = offset_of!(StridedArguments, strides);
        let mut strides = Vec::new();
        for (operand, base) in bases.iter().enumerate() {
            let of_operand = strides_of + 8 * MAX_DIMS * operand;
            let dims = if base.is_some() { dims } else { 0 };
            strides.push((0..dims).map(|d| index.parameter(w, of_operand + 8 * d)).collect());
        }
        let dimension = |d: usize| {
            let size = index.parameter(w, offset_of!(StridedArguments, sizes) + 8 * d);
            let divisor = offset_of!(StridedArguments, divisors) + size_of::<MagicDivisor>() * d;
            let of_field = |field| format!("[{ARGUMENT}+{}]", divisor + field);
            let divisor = (!index.is_wide).then(|| {
                [offset_of!(MagicDivisor, multiplier), offset_of!(MagicDivisor, shift)]
                    .map(|field| w.b32("ld.param.u32", &[&of_field(field)]))
            });
            (size, divisor)
        };
        let dimensions = (1..dims).map(dimension).collect();
        StridedWalk { index, bases, strides, dimensions }
    }

    /// The address of each operand's element with a linear index.
    fn addresses(
        &self,
        w: &mut InstructionWriter,
        operands: &StoredExpression<'_>,
        element: VirtualRegister,
    ) -> Vec<Option<VirtualRegister>> {
        let (bits, class) = (self.index.bits(), self.index.class());
        let mut coordinates = vec![element; self.dimensions.len() + 1];
        let mut rest = element;
        for (number, (size, divisor)) in self.dimensions.iter().enumerate().rev() {
            let quotient = match divisor {
                None => w.b64("div.u64", &[&rest, size]),
                Some([multiplier, shift]) => {
                    let high = w.b32("mul.hi.u32", &[&rest, multiplier]);
                    let sum = w.b32("add.s32", &[&high, &rest]);
                    w.b32("shr.u32", &[&sum, shift])
                }
            };
            let whole = w.emit(class, format_args!("mul.lo.s{bits}"), &[&quotient, size]);
            coordinates[number + 1] = w.emit(class, format_args!("sub.s{bits}"), &[&rest, &whole]);
            rest = quotient;
        }
        coordinates[0] = rest;
        let of_operand = |(number, dtype): (usize, DType)| {
            let base = self.bases[number]?;
            let mut distance: Option<VirtualRegister> = None;
            for (coordinate, stride) in coordinates.iter().zip(&self.strides[number]) {
                distance = Some(match distance {
                    None => w.emit(class, format_args!("mul.lo.s{bits}"), &[coordinate, stride]),
                    Some(distance) => {
                        let opcode = format!("mad.lo.s{bits}");
                        w.emit(class, opcode, &[coordinate, stride, &distance])
                    }
                });
            }
            let distance = distance.expect("there is a dimension");
            let opcode = if self.index.is_wide { "mad.lo.s64" } else { "mad.wide.s32" };
            Some(w.b64(opcode, &[&distance, &dtype.size(), &base]))
        };
        operands.dtypes().enumerate().map(of_operand).collect()
    }
}
