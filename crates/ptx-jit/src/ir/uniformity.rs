//! Uniformity: how a register's values differ between the lanes of a warp, and how an instruction's
//! results differ where its operands do.
//!
//! The word and the idea are LLVM's (`UniformityAnalysis`), with one kind more: integers that grow by
//! a constant from lane to lane, as indices of threads and addresses computed of them do. They cost
//! one register for a warp instead of 32, and tell which accesses of the lanes are next to each
//! other.

use ptx::{
    AddressBase, BitsForm, BitsOp, Function, Instruction, IntegerForm, IntegerOp, Operand,
    Operation, ProductPart, Register, RegisterType, ScalarType, ShuffleMode, StateSpace,
    Suspension, ThreadMemory, VariableRef,
};

use super::shape::WarpShape;

/// The difference between the lanes' values of a register: none, a constant from lane to lane, or
/// any. It is a lattice, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uniformity {
    /// All lanes have the same value.
    Uniform,
    /// The lanes have integers at equal distances.
    Affine(LaneStrides),
    /// Nothing is known about the lanes' values.
    Varying,
}

/// The distances between the values of lanes: lane `l` has
/// `first + l % width * along + l / width * across`, modulo the width of the register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaneStrides {
    /// The distance from a lane to the next one in its row.
    pub(crate) along: i64,
    /// The distance from a row of lanes to the next one; 0 if the warp is one row.
    pub(crate) across: i64,
    /// Whether the values are the lanes' numbers plus a multiple of 32. Kernels divide such a thread
    /// index by 32 to find their warp, which is then uniform, and take the rest to find their lane.
    pub(crate) lanes: bool,
}

impl Uniformity {
    /// The uniformity of a register that holds a value of either kind.
    pub(super) fn join(self, other: Uniformity) -> Uniformity {
        match (self, other) {
            (Uniformity::Uniform, Uniformity::Uniform) => Uniformity::Uniform,
            (Uniformity::Affine(a), Uniformity::Affine(b))
                if (a.along, a.across) == (b.along, b.across) =>
            {
                Uniformity::Affine(LaneStrides { lanes: a.lanes && b.lanes, ..a })
            }
            _ => Uniformity::Varying,
        }
    }

    /// The distances between lanes; `None` for varying values.
    fn strides(self) -> Option<LaneStrides> {
        match self {
            Uniformity::Uniform => Some(LaneStrides { along: 0, across: 0, lanes: false }),
            Uniformity::Affine(strides) => Some(strides),
            Uniformity::Varying => None,
        }
    }
}

impl LaneStrides {
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

impl LaneStrides {
    /// The strides of a sum. They may wrap, as the values that they are the differences of do.
    fn plus(self, other: LaneStrides) -> LaneStrides {
        let along = self.along.wrapping_add(other.along);
        LaneStrides { along, across: self.across.wrapping_add(other.across), lanes: false }
    }

    /// The strides of a product with a constant; `None` if one overflows.
    fn times(self, factor: i64) -> Option<LaneStrides> {
        let (along, across) = (self.along.checked_mul(factor)?, self.across.checked_mul(factor)?);
        Some(LaneStrides { along, across, lanes: false })
    }
}

/// The greatest distance between lanes that is followed: the sum or product of two that are smaller
/// does not overflow, or is found to.
const MAX_STRIDE: i64 = 1 << 40;

/// The uniformity of values of so many bits with those strides, which are cut to the width, since
/// the values wrap at it.
pub(super) fn affine(along: i64, across: i64, bits: u32, shape: WarpShape) -> Uniformity {
    let cut = |stride: i64| stride << (64 - bits) >> (64 - bits);
    let across = if shape.width() == 32 { 0 } else { across };
    let (along, across) = (cut(along), cut(across));
    if along.abs() > MAX_STRIDE || across.abs() > MAX_STRIDE {
        return Uniformity::Varying;
    }
    match (along, across) {
        (0, 0) => Uniformity::Uniform,
        _ => Uniformity::Affine(LaneStrides { along, across, lanes: false }),
    }
}

/// Whether each lane must execute an instruction by itself, whatever its operands: it concerns the
/// thread's own memory, or has an effect for each thread.
pub(crate) fn is_for_each_lane(function: &Function, instruction: &Instruction) -> bool {
    match instruction.operation {
        Operation::Atomic(_)
        | Operation::Mbarrier(_)
        | Operation::BulkCopy(_)
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

/// The type that an instruction widens its operand from, if it does. Where the operand is affine,
/// its values are computed modulo its own width, so the wider result is affine only if none of them
/// wraps: that is checked when the kernel runs.
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

/// The uniformity of an instruction's results, from that of its sources, if all lanes execute it.
/// `constant` gives the value of an operand that is always the same.
pub(super) fn of_result(
    shape: WarpShape,
    function: &Function,
    instruction: &Instruction,
    sources: &[Uniformity],
    constant: impl Fn(Operand) -> Option<u64>,
) -> Uniformity {
    if let Operation::Suspend(suspension) = instruction.operation {
        return of_exchange(suspension, instruction, sources, constant);
    }
    if sources.iter().all(|&source| source == Uniformity::Uniform) {
        return Uniformity::Uniform;
    }
    affine_result(shape, function, instruction, sources).unwrap_or(Uniformity::Varying)
}

/// The uniformity of the results of a warp's operation or a barrier, whose members are all lanes.
fn of_exchange(
    suspension: Suspension,
    instruction: &Instruction,
    sources: &[Uniformity],
    constant: impl Fn(Operand) -> Option<u64>,
) -> Uniformity {
    let uniform = |index: usize| sources[index] == Uniformity::Uniform;
    let shared = match suspension {
        Suspension::Barrier(_) | Suspension::ActiveMask => true,
        Suspension::Phase { .. } => uniform(0) && uniform(1),
        Suspension::Vote(_) | Suspension::Reduce(_) => uniform(1),
        Suspension::Shuffle(ShuffleMode::Index) => {
            let whole_warp = constant(instruction.sources[2]) == Some(31);
            uniform(1) && whole_warp && uniform(3)
        }
        _ => false,
    };
    if shared { Uniformity::Uniform } else { Uniformity::Varying }
}

/// The uniformity of an operation's result, some of whose operands are affine; `None` if no rule is
/// known.
fn affine_result(
    shape: WarpShape,
    function: &Function,
    instruction: &Instruction,
    sources: &[Uniformity],
) -> Option<Uniformity> {
    let (bits, strides) = match instruction.operation {
        Operation::Move(ty) => (ty.bits(), sources[0].strides()?),
        Operation::Integer(form) => integer_strides(form, instruction, sources)?,
        Operation::Bits(form) => (form.ty.bits(), strides_of_bits(form, instruction, sources)?),
        Operation::Convert(form) if is_word(form.from) && is_word(form.to) => {
            if form.clamp != ptx::Clamp::None {
                return None;
            }
            (form.to.bits(), sources[0].strides()?)
        }
        Operation::ToGeneric { bits: 64, .. } | Operation::FromGeneric { bits: 64, .. } => {
            (64, LaneStrides { lanes: false, ..sources[0].strides()? })
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
    Some(match affine(strides.along, strides.across, bits, shape) {
        Uniformity::Affine(own) => Uniformity::Affine(LaneStrides { lanes: strides.lanes, ..own }),
        other => other,
    })
}

/// The width and the strides of an integer operation's result.
fn integer_strides(
    form: IntegerForm,
    instruction: &Instruction,
    sources: &[Uniformity],
) -> Option<(u32, LaneStrides)> {
    let bits = form.ty.bits();
    let strides = |index: usize| sources[index].strides();
    match form.op {
        IntegerOp::Add { saturate: false } => Some((bits, strides(0)?.plus(strides(1)?))),
        IntegerOp::Sub { saturate: false } => {
            let LaneStrides { along, across, .. } = strides(1)?;
            let negated = LaneStrides { along: -along, across: -across, lanes: false };
            Some((bits, strides(0)?.plus(negated)))
        }
        IntegerOp::Multiply(part) => {
            let product = product(instruction, sources, form.ty)?;
            Some((product_bits(bits, part)?, LaneStrides { lanes: false, ..product }))
        }
        IntegerOp::MultiplyAdd { part, saturate: false } => {
            let product = product(instruction, sources, form.ty)?;
            Some((product_bits(bits, part)?, product.plus(strides(2)?)))
        }
        _ => None,
    }
}

/// The strides of the result of an operation on bits, whose second operand is a constant.
fn strides_of_bits(
    form: BitsForm,
    instruction: &Instruction,
    sources: &[Uniformity],
) -> Option<LaneStrides> {
    let a = sources[0].strides()?;
    let &Operand::Immediate(amount) = instruction.sources.get(1)? else {
        return None;
    };
    let uniform = LaneStrides { along: 0, across: 0, lanes: false };
    match form.op {
        BitsOp::ShiftLeft if amount < 32 => a.times(1 << amount),
        // The warp that a thread belongs to, and its lane in it.
        BitsOp::ShiftRight if a.lanes && amount >= 5 => Some(uniform),
        BitsOp::And if a.lanes && amount == 31 => Some(a),
        BitsOp::And if a.lanes && amount & 31 == 0 => Some(uniform),
        _ => None,
    }
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
fn product(
    instruction: &Instruction,
    sources: &[Uniformity],
    ty: ScalarType,
) -> Option<LaneStrides> {
    let (a, b) = (sources[0].strides()?, sources[1].strides()?);
    if (sources[0], sources[1]) == (Uniformity::Uniform, Uniformity::Uniform) {
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
    strides.times(factor)
}
