//! `wmma.load` and `wmma.store`: each lane loads or stores its own elements.

use super::fragment::{Fragment, FragmentElement, WmmaMatrix, WmmaShape};
use super::refusal;
use crate::ast::{AddressBase, MemoryOperand, Operand, Register, SpecialRegister};
use crate::error::Error;
use crate::matrix::MatrixType;
use crate::operation::{BitsOp, IntegerOp, MemoryForm, MemoryOrder, Operation};
use crate::parser::expand::expander::Expander;
use crate::parser::expand::matrix::{results, values};
use crate::parser::expand::writer::ExpansionWriter;
use crate::types::ScalarType::{self, B16, B32, B64, U8, U32};
use crate::types::{RegisterType, StateSpace};

/// `wmma.load.{a,b,c}.sync.aligned.layout.shape{.ss}.type r, [p] {, stride}`.
pub(in crate::parser::expand) fn load(
    expander: &mut Expander<'_, '_>,
    modifiers: &str,
) -> Result<(), Error> {
    let Some(form) = AccessForm::from_modifiers(modifiers) else {
        return Err(refusal(expander, modifiers));
    };
    let fragment = &form.fragment;
    let mut operands = expander.operands();
    let results = results(&mut operands, fragment.register, fragment.len())?;
    operands.comma()?;
    let location = operands.memory(form.space)?;
    let stride = optional_stride(expander, &form)?;
    let mut code = expander.code();
    let walk = LaneWalk::new(&mut code, &form, location, stride);
    let class = RegisterType::declared(fragment.register).expect("fragments lie in registers");
    let loaded: Vec<_> = fragment
        .registers
        .iter()
        .map(|elements| {
            let register = code.temporary(class);
            load_register(&mut code, &walk, (register, elements));
            register
        })
        .collect();
    for (result, register) in results.into_iter().zip(loaded.into_iter().cycle()) {
        code.copy(fragment.register, result, Operand::Register(register));
    }
    Ok(())
}

/// `wmma.store.d.sync.aligned.layout.shape{.ss}.type [p], r {, stride}`.
pub(in crate::parser::expand) fn store(
    expander: &mut Expander<'_, '_>,
    modifiers: &str,
) -> Result<(), Error> {
    let form = AccessForm::from_modifiers(modifiers);
    let Some(form) = form.filter(|form| form.is_result) else {
        return Err(refusal(expander, modifiers));
    };
    let fragment = &form.fragment;
    let mut operands = expander.operands();
    let location = operands.memory(form.space)?;
    operands.comma()?;
    let sources = values(&mut operands, fragment.register, fragment.len())?;
    let stride = optional_stride(expander, &form)?;
    let mut code = expander.code();
    let walk = LaneWalk::new(&mut code, &form, location, stride);
    for (&source, elements) in sources.iter().zip(&fragment.registers) {
        if let Some(ty) = walk.whole(elements) {
            let place = walk.place(&mut code, elements[0]);
            code.emit(Operation::Store(walk.access(ty)), &[], &[place, source]);
            continue;
        }
        let halves = [(); 2].map(|()| code.temporary(RegisterType::Bits16));
        code.emit(Operation::Unpack, &halves.map(Some), &[source]);
        for (&element, half) in elements.iter().zip(halves) {
            let place = walk.place(&mut code, element);
            let sources = [place, Operand::Register(half)];
            code.emit(Operation::Store(walk.access(B16)), &[], &sources);
        }
    }
    Ok(())
}

/// The form of a load or a store.
struct AccessForm {
    fragment: Fragment,
    /// Whether it is of d.
    is_result: bool,
    /// Whether the matrix lies in rows.
    in_rows: bool,
    space: StateSpace,
}

impl AccessForm {
    /// The form that modifiers ask for, such as `a.sync.aligned.row.m16n16k16.global.f16`.
    fn from_modifiers(modifiers: &str) -> Option<AccessForm> {
        let mut words = modifiers.split('.').peekable();
        let name = words.next()?;
        words.next_if_eq(&"sync")?;
        words.next_if_eq(&"aligned");
        let in_rows = match words.next()? {
            "row" => true,
            "col" => false,
            _ => return None,
        };
        let shape = WmmaShape::from_name(words.next()?)?;
        let space = words.next_if(|word| matches!(*word, "global" | "shared" | "shared::cta"));
        let space = space.map_or(Some(StateSpace::Generic), StateSpace::from_name)?;
        let ty = words.next()?;
        if words.next().is_some() {
            return None;
        }
        let factor = || MatrixType::from_name(ty).filter(|&ty| shape.has_factors(ty));
        let sums = || ScalarType::from_name(ty).filter(|&ty| shape.has_sums(ty));
        let matrix = match name {
            "a" => WmmaMatrix::A(factor()?),
            "b" => WmmaMatrix::B(factor()?),
            "c" | "d" => WmmaMatrix::Sums(sums()?),
            _ => return None,
        };
        let is_result = name == "d";
        Some(AccessForm { fragment: shape.fragment(matrix), is_result, in_rows, space })
    }

    /// Whether neighbours across the fragment's lines are neighbours in memory.
    fn is_dense(&self) -> bool {
        self.in_rows == self.fragment.lines_are_rows
    }
}

/// Reads the distance from one row or column to the next, in elements; without one, they follow each
/// other.
fn optional_stride(expander: &mut Expander<'_, '_>, form: &AccessForm) -> Result<Operand, Error> {
    let mut operands = expander.operands();
    if !operands.cursor().accept(b',') {
        let [rows, columns] = form.fragment.extents;
        let stride = if form.in_rows { columns } else { rows };
        return Ok(Operand::Immediate(stride as u64));
    }
    operands.value(U32)
}

/// The way of a lane through a matrix in memory.
struct LaneWalk {
    space: StateSpace,
    element_bytes: usize,
    dense: bool,
    /// The address of the lane's first element, and the type of addresses.
    first: (Operand, ScalarType),
    /// The distance in bytes from one line in memory to the next.
    stride: Operand,
}

impl LaneWalk {
    fn new(
        code: &mut ExpansionWriter<'_, '_>,
        form: &AccessForm,
        location: MemoryOperand,
        stride: Operand,
    ) -> LaneWalk {
        let Fragment { element_bytes, step, .. } = form.fragment;
        let (base, ty) = code.address(location);
        let bytes = Operand::Immediate(element_bytes as u64);
        let stride = code.product(ty, &[stride, bytes]);
        let lane = Operand::Special(SpecialRegister::Lane);
        let line = code.bits(BitsOp::ShiftRight, U32, &[lane, Operand::Immediate(2)]);
        let place = code.bits(BitsOp::And, B32, &[lane, Operand::Immediate(3)]);
        let step = Operand::Immediate(step as u64);
        let place = code.product(U32, &[place, step]);
        let dense = form.is_dense();
        let (across, along) = if dense { (line, place) } else { (place, line) };
        let across = scaled(code, ty, across, stride);
        let along = code.product(ty, &[along, bytes]);
        let mut first = Operand::Register(base);
        for distance in [across, along] {
            first = sum(code, ty, first, distance);
        }
        LaneWalk { space: form.space, element_bytes, dense, first: (first, ty), stride }
    }

    /// The location of an element.
    fn place(&self, code: &mut ExpansionWriter<'_, '_>, element: FragmentElement) -> Operand {
        let FragmentElement { line, place } = element;
        let (across, along) = if self.dense { (line, place) } else { (place, line) };
        let (first, ty) = self.first;
        let base = match across {
            0 => first,
            _ => {
                let distance =
                    code.integer(multiply(), ty, &[self.stride, Operand::Immediate(across as u64)]);
                sum(code, ty, first, distance)
            }
        };
        let Operand::Register(base) = base else { unreachable!("sums are in registers") };
        let offset = (along * self.element_bytes) as i64;
        Operand::Memory(MemoryOperand { base: AddressBase::Register(base), offset })
    }

    /// The type of one access to all elements of a register, if they are neighbours in memory.
    fn whole(&self, elements: &[FragmentElement]) -> Option<ScalarType> {
        let bits = 8 * elements.len() * self.element_bytes;
        (self.dense || elements.len() == 1).then(|| ScalarType::untyped(bits as u32))
    }

    fn access(&self, ty: ScalarType) -> MemoryForm {
        MemoryForm { space: self.space, ty, count: 1, order: MemoryOrder::Weak }
    }
}

fn load_register(
    code: &mut ExpansionWriter<'_, '_>,
    walk: &LaneWalk,
    (register, elements): (Register, &[FragmentElement]),
) {
    if let Some(ty) = walk.whole(elements) {
        debug_assert!(matches!(ty, B32 | B64));
        let place = walk.place(code, elements[0]);
        return code.emit(Operation::Load(walk.access(ty)), &[Some(register)], &[place]);
    }
    if walk.element_bytes == 2 {
        let halves = [(); 2].map(|()| code.temporary(RegisterType::Bits16));
        for (&element, half) in elements.iter().zip(halves) {
            let place = walk.place(code, element);
            code.emit(Operation::Load(walk.access(B16)), &[Some(half)], &[place]);
        }
        return code.emit(Operation::Pack, &[Some(register)], &halves.map(Operand::Register));
    }
    let mut word = Operand::Immediate(0);
    for (index, &element) in elements.iter().enumerate() {
        let byte = code.temporary(RegisterType::Bits32);
        let place = walk.place(code, element);
        code.emit(Operation::Load(walk.access(U8)), &[Some(byte)], &[place]);
        let field = [8 * index as u64, 8].map(Operand::Immediate);
        let sources = [Operand::Register(byte), word, field[0], field[1]];
        word = code.bits(BitsOp::Insert, B32, &sources);
    }
    code.copy(B32, Some(register), word);
}

/// A number of 32 bits times one of the type.
fn scaled(
    code: &mut ExpansionWriter<'_, '_>,
    ty: ScalarType,
    number: Operand,
    by: Operand,
) -> Operand {
    let number = code.product(ty, &[number, Operand::Immediate(1)]);
    code.integer(multiply(), ty, &[number, by])
}

fn sum(code: &mut ExpansionWriter<'_, '_>, ty: ScalarType, a: Operand, b: Operand) -> Operand {
    code.integer(IntegerOp::Add { saturate: false }, ty, &[a, b])
}

fn multiply() -> IntegerOp {
    IntegerOp::Multiply(crate::operation::ProductPart::Low)
}
