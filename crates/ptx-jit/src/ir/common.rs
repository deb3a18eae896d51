//! From what the lanes' operands of an instruction have in common to what its results have.

use ptx::{
    AddressBase, Axis, BitsOp, Function, Instruction, IntegerOp, Operand, Operation, ProductPart,
    Register, RegisterType, ScalarType, ShuffleMode, SpecialRegister, StateSpace, Suspension,
    ThreadMemory, VariableRef,
};

use super::kinds::Kinds;
use super::shape::WarpShape;

/// What the lanes' values of a register have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All are the same.
    Uniform,
    /// They are integers at equal distances.
    Affine(Strides),
    /// Nothing is known.
    Varying,
}

/// The distances between the values of lanes: lane `l` has
/// `first + l % width * along + l / width * across`, modulo the width of the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strides {
    pub(crate) along: i64,
    pub(crate) across: i64,
    /// Whether the values are the lanes' numbers plus a multiple of 32.
    pub(crate) lanes: bool,
}

impl Kind {
    /// What values have in common that are of one kind or the other.
    pub(super) fn join(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Uniform, Kind::Uniform) => Kind::Uniform,
            (Kind::Affine(a), Kind::Affine(b)) if (a.along, a.across) == (b.along, b.across) => {
                Kind::Affine(Strides { lanes: a.lanes && b.lanes, ..a })
            }
            _ => Kind::Varying,
        }
    }

    /// The distances between lanes; nothing for values without a rule.
    fn strides(self) -> Option<Strides> {
        match self {
            Kind::Uniform => Some(Strides { along: 0, across: 0, lanes: false }),
            Kind::Affine(strides) => Some(strides),
            Kind::Varying => None,
        }
    }
}

impl Strides {
    /// The distance from the first lane to the least value and to the greatest, before they wrap.
    pub(crate) fn range(self, shape: WarpShape) -> (i64, i64) {
        let width = i64::from(shape.width());
        let ends = [(width - 1) * self.along, (32 / width - 1) * self.across];
        (ends.iter().map(|end| end.min(&0)).sum(), ends.iter().map(|end| end.max(&0)).sum())
    }

    /// The distance from the first lane to another one.
    pub(crate) fn at(self, lane: i64, shape: WarpShape) -> i64 {
        let width = i64::from(shape.width());
        let along = (lane % width).wrapping_mul(self.along);
        along.wrapping_add((lane / width).wrapping_mul(self.across))
    }
}

/// Distances beyond this are left alone, so that none overflows.
const FARTHEST: i64 = 1 << 40;

/// Strides as a kind, of values of so many bits.
fn affine(along: i64, across: i64, bits: u32, shape: WarpShape) -> Kind {
    let cut = |stride: i64| stride << (64 - bits) >> (64 - bits);
    let across = if shape.width() == 32 { 0 } else { across };
    let (along, across) = (cut(along), cut(across));
    if along.abs() > FARTHEST || across.abs() > FARTHEST {
        return Kind::Varying;
    }
    match (along, across) {
        (0, 0) => Kind::Uniform,
        _ => Kind::Affine(Strides { along, across, lanes: false }),
    }
}

/// Whether each lane must execute an instruction by itself, whatever its operands: it concerns the
/// thread's own memory, or has an effect for each thread.
pub(crate) fn is_for_each_lane(function: &Function, instruction: &Instruction) -> bool {
    match instruction.operation {
        Operation::Atomic(_)
        | Operation::Call(_)
        | Operation::CopyVariable { .. }
        | Operation::IsSpace(_)
        | Operation::ToGeneric { space: StateSpace::Local, .. }
        | Operation::FromGeneric { space: StateSpace::Local, .. } => true,
        Operation::Load(form) | Operation::Store(form) => {
            form.space == StateSpace::Local || in_frame(function, instruction)
        }
        _ => false,
    }
}

/// Whether an access is to a variable of the function's frame.
fn in_frame(function: &Function, instruction: &Instruction) -> bool {
    let Operand::Memory(address) = instruction.sources[0] else {
        return false;
    };
    match address.base {
        AddressBase::Variable(VariableRef::Frame(index)) => {
            function.variables[index].memory == ThreadMemory::Frame
        }
        _ => false,
    }
}

/// The operand of an instruction that is widened, if its values must not wrap for the result to be
/// affine, with the type that it is widened from.
pub(crate) fn widened(instruction: &Instruction) -> Option<ScalarType> {
    match instruction.operation {
        Operation::Integer(form) => {
            let part = match form.op {
                IntegerOp::Multiply(part) | IntegerOp::MultiplyAdd { part, .. } => part,
                _ => return None,
            };
            (part == ProductPart::Wide).then_some(form.ty)
        }
        Operation::Convert(form) if form.to.bits() > form.from.bits() => Some(form.from),
        _ => None,
    }
}

impl Kinds {
    /// What the lanes' values of an operand have in common; nothing if that is not known yet.
    pub(crate) fn operand(&self, function: &Function, operand: Operand) -> Option<Kind> {
        let of = |register: Register| self.registers[register.index()];
        match operand {
            Operand::Register(register) | Operand::Negated(register) => of(register),
            Operand::Special(special) => Some(self.special(special)),
            Operand::Memory(address) => match address.base {
                AddressBase::Register(register) => of(register).map(|kind| {
                    let bits = function.registers[register.index()].bits();
                    // The manual lets addresses be in registers of other types too.
                    if bits < 32 { Kind::Varying } else { kind }
                }),
                _ => Some(Kind::Uniform),
            },
            _ => Some(Kind::Uniform),
        }
    }

    fn special(&self, special: SpecialRegister) -> Kind {
        let shape = self.shape;
        let by_row = |along, across| match shape {
            WarpShape::Rows(_) => affine(along, across, 32, shape),
            WarpShape::Any => Kind::Varying,
        };
        let lanes = Strides { along: 1, across: i64::from(shape.width()) % 32, lanes: true };
        match special {
            SpecialRegister::ThreadIndex(Axis::X) if shape == WarpShape::Rows(32) => {
                Kind::Affine(lanes)
            }
            SpecialRegister::ThreadIndex(Axis::X) => by_row(1, 0),
            SpecialRegister::ThreadIndex(Axis::Y) => by_row(0, 1),
            SpecialRegister::ThreadIndex(Axis::Z) => by_row(0, 0),
            SpecialRegister::Lane => Kind::Affine(lanes),
            SpecialRegister::LaneMask(_) => Kind::Varying,
            _ => Kind::Uniform,
        }
    }
}

/// What the results of an instruction have in common; nothing if an operand is not known yet.
pub(super) fn result(
    kinds: &Kinds,
    function: &Function,
    instruction: &Instruction,
) -> Option<Kind> {
    if is_for_each_lane(function, instruction) {
        return Some(Kind::Varying);
    }
    let sources = instruction.sources.iter().map(|&source| kinds.operand(function, source));
    let sources = sources.collect::<Option<smallvec::SmallVec<[Kind; 4]>>>()?;
    if let Operation::Suspend(suspension) = instruction.operation {
        return Some(exchanged(kinds, suspension, instruction, &sources));
    }
    if sources.iter().all(|&kind| kind == Kind::Uniform) {
        return Some(Kind::Uniform);
    }
    Some(affine_result(kinds.shape, function, instruction, &sources).unwrap_or(Kind::Varying))
}

/// What the results of an operation of a warp or a barrier have in common, where all lanes are its
/// members.
fn exchanged(
    kinds: &Kinds,
    suspension: Suspension,
    instruction: &Instruction,
    sources: &[Kind],
) -> Kind {
    let uniform = |index: usize| sources[index] == Kind::Uniform;
    let shared = match suspension {
        Suspension::Barrier(_) | Suspension::ActiveMask => true,
        Suspension::Vote(_) | Suspension::Reduce(_) => uniform(1),
        Suspension::Shuffle(ShuffleMode::Index) => {
            let whole_warp = kinds.constant(instruction.sources[2]) == Some(31);
            uniform(1) && whole_warp && uniform(3)
        }
        _ => false,
    };
    if shared { Kind::Uniform } else { Kind::Varying }
}

/// The rule of operations on affine operands; nothing if there is none.
fn affine_result(
    shape: WarpShape,
    function: &Function,
    instruction: &Instruction,
    sources: &[Kind],
) -> Option<Kind> {
    let (bits, along, across, lanes) = match instruction.operation {
        Operation::Move(ty) => {
            let a = sources[0].strides()?;
            (ty.bits(), a.along, a.across, a.lanes)
        }
        Operation::Integer(form) => {
            let bits = form.ty.bits();
            let operands = || Some((sources[0].strides()?, sources[1].strides()?));
            match form.op {
                IntegerOp::Add { saturate: false } => {
                    let (a, b) = operands()?;
                    (bits, a.along + b.along, a.across + b.across, false)
                }
                IntegerOp::Sub { saturate: false } => {
                    let (a, b) = operands()?;
                    (bits, a.along - b.along, a.across - b.across, false)
                }
                IntegerOp::Multiply(part) => {
                    let a = product(instruction, sources, form.ty)?;
                    (product_bits(bits, part)?, a.along, a.across, false)
                }
                IntegerOp::MultiplyAdd { part, saturate: false } => {
                    let a = product(instruction, sources, form.ty)?;
                    let c = sources[2].strides()?;
                    (product_bits(bits, part)?, a.along + c.along, a.across + c.across, false)
                }
                _ => return None,
            }
        }
        Operation::Bits(form) => {
            let a = sources[0].strides()?;
            let &Operand::Immediate(amount) = instruction.sources.get(1)? else {
                return None;
            };
            let bits = form.ty.bits();
            match form.op {
                BitsOp::ShiftLeft if amount < 32 => {
                    let factor = 1_i64 << amount;
                    (bits, a.along.checked_mul(factor)?, a.across.checked_mul(factor)?, false)
                }
                // The number of a lane's warp, and the lane in it.
                BitsOp::ShiftRight if a.lanes && amount >= 5 => (bits, 0, 0, false),
                BitsOp::And if a.lanes && amount == 31 => (bits, a.along, a.across, true),
                BitsOp::And if a.lanes && amount & 31 == 0 => (bits, 0, 0, false),
                _ => return None,
            }
        }
        Operation::Convert(form) if is_word(form.from) && is_word(form.to) => {
            let a = sources[0].strides()?;
            let same = form.clamp == ptx::Clamp::None;
            if !same {
                return None;
            }
            (form.to.bits(), a.along, a.across, a.lanes)
        }
        Operation::ToGeneric { bits: 64, .. } | Operation::FromGeneric { bits: 64, .. } => {
            let a = sources[0].strides()?;
            (64, a.along, a.across, false)
        }
        _ => return None,
    };
    let fits = |register: Register| match function.registers[register.index()] {
        RegisterType::Bits32 => bits == 32,
        RegisterType::Bits64 => bits == 64,
        _ => false,
    };
    if !sources_fit(function, instruction)
        || !instruction.destinations.iter().flatten().all(|&register| fits(register))
    {
        return None;
    }
    Some(match affine(along, across, bits, shape) {
        Kind::Affine(strides) => Kind::Affine(Strides { lanes, ..strides }),
        kind => kind,
    })
}

/// Whether registers are read in their own width.
fn sources_fit(function: &Function, instruction: &Instruction) -> bool {
    let (operation, wide) = match instruction.operation {
        Operation::Convert(form) => (form.from.bits(), form.from.bits()),
        Operation::Move(ty) => (ty.bits(), ty.bits()),
        Operation::Integer(form) if widened(instruction).is_some() => {
            (form.ty.bits(), 2 * form.ty.bits())
        }
        Operation::Integer(form) => (form.ty.bits(), form.ty.bits()),
        Operation::Bits(form) => (form.ty.bits(), form.ty.bits()),
        _ => (64, 64),
    };
    let fits = |(index, source): (usize, &Operand)| match *source {
        Operand::Register(register) => {
            let bits = function.registers[register.index()].bits();
            bits == if index == 2 { wide } else { operation }
        }
        // 32 bits, extended by zeros.
        Operand::Special(_) => operation == 32 && index < 2,
        _ => true,
    };
    operation >= 32 && instruction.sources.iter().enumerate().all(fits)
}

fn is_word(ty: ScalarType) -> bool {
    ty.is_integer() && ty.bits() >= 32
}

fn product_bits(bits: u32, part: ProductPart) -> Option<u32> {
    match part {
        ProductPart::Low => Some(bits),
        ProductPart::Wide if bits == 32 => Some(64),
        _ => None,
    }
}

/// The strides of the product of the first two operands, one of which is a constant or both of
/// which are uniform.
fn product(instruction: &Instruction, sources: &[Kind], ty: ScalarType) -> Option<Strides> {
    let (a, b) = (sources[0].strides()?, sources[1].strides()?);
    if (sources[0], sources[1]) == (Kind::Uniform, Kind::Uniform) {
        return Some(a);
    }
    let factor = |index: usize| match instruction.sources[index] {
        Operand::Immediate(bits) if ty.bits() == 64 => Some(bits as i64),
        Operand::Immediate(bits) if ty.is_signed() => Some(i64::from(bits as i32)),
        Operand::Immediate(bits) => Some(i64::from(bits as u32)),
        _ => None,
    };
    let (strides, factor) = match (factor(0), factor(1)) {
        (_, Some(factor)) => (a, factor),
        (Some(factor), _) => (b, factor),
        _ => return None,
    };
    let times = |stride: i64| stride.checked_mul(factor);
    Some(Strides { along: times(strides.along)?, across: times(strides.across)?, lanes: false })
}
