//! Products of matrices whose elements lie in the lanes' registers, the exchange of their rows, and loads of
//! rows: calls of functions, which are told where each register lies.

use cranelift_codegen::ir::{InstBuilder, StackSlot, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{MATRIX_SOURCES, MatrixForm, RowExchange, ScalarType};

use super::arrays::area;
use super::lanes::{LANES, Lanes};
use super::shape::{count, vector_type};
use crate::codegen::array_functions::ArrayFunction;
use crate::runtime::{MatrixArea, MatrixRegisters, RowLoad};

/// A register that an operation on matrices takes.
pub(in crate::codegen) enum MatrixOperand {
    /// It lies in memory.
    Memory(FramePlace),
    Lanes(Lanes),
}

/// The place of a register in the frame of a warp.
#[derive(Clone, Copy)]
pub(in crate::codegen) struct FramePlace {
    pub(in crate::codegen) base: Value,
    pub(in crate::codegen) offset: i32,
}

impl FramePlace {
    fn address(self, b: &mut FunctionBuilder<'_>) -> Value {
        b.ins().iadd_imm_s(self.base, i64::from(self.offset))
    }
}

/// Multiplies matrices, of which the registers of a, b and c are given. The results are written to their
/// memory; those that have none are given.
pub(in crate::codegen) fn multiply(
    b: &mut FunctionBuilder<'_>,
    form: MatrixForm,
    operands: &[MatrixOperand],
    homes: &[Option<FramePlace>],
) -> Vec<Option<Lanes>> {
    let call = (ArrayFunction::MultiplyMatrices, form.number());
    call_function(b, call, operands, homes, form.sum_register())
}

/// Exchanges rows, and gives lanes their words as [`multiply`] does its results.
pub(in crate::codegen) fn exchange_rows(
    b: &mut FunctionBuilder<'_>,
    exchange: RowExchange,
    operands: &[MatrixOperand],
    homes: &[Option<FramePlace>],
) -> Vec<Option<Lanes>> {
    let call = (ArrayFunction::ExchangeRows, exchange.number());
    call_function(b, call, operands, homes, ScalarType::B32)
}

/// Loads rows of shared memory, which begins at a host address and has room for so many; `addresses` are
/// those of a row for each lane. Gives lanes their words as [`multiply`] does its results.
pub(in crate::codegen) fn load_rows(
    b: &mut FunctionBuilder<'_>,
    exchange: RowExchange,
    addresses: &Lanes,
    [memory, slots]: [Value; 2],
    homes: &[Option<FramePlace>],
) -> LoadedRows {
    let lanes = area(b, *b"rowplace", 4 * LANES);
    for (vector, &value) in addresses.values.iter().enumerate() {
        b.ins().stack_store(types::I64, value, lanes, 16 * vector as i32);
    }
    let load = area(b, *b"rowsload", size_of::<RowLoad>());
    let addresses = b.ins().stack_addr(types::I64, lanes, 0);
    let parts =
        [(addresses, RowLoad::ADDRESSES), (memory, RowLoad::MEMORY), (slots, RowLoad::SLOTS)];
    for (value, at) in parts {
        b.ins().stack_store(types::I64, value, load, at as i32);
    }
    let results = MatrixResults::new(b, homes);
    results.put_addresses(b, load, RowLoad::RESULTS);
    call(b, ArrayFunction::LoadRows, load, exchange.number());
    let are_inside = b.ins().stack_load(types::I64, types::I32, load, RowLoad::ARE_INSIDE as i32);
    LoadedRows { words: results.take(b, ScalarType::B32), are_inside, addresses }
}

/// The results of a load of rows.
pub(in crate::codegen) struct LoadedRows {
    /// The lanes' words, of those results that have no memory of their own.
    pub(in crate::codegen) words: Vec<Option<Lanes>>,
    /// 0 if nothing was loaded: a row lies outside of the memory, or is not aligned.
    pub(in crate::codegen) are_inside: Value,
    /// The address of the rows' addresses.
    pub(in crate::codegen) addresses: Value,
}

fn call_function(
    b: &mut FunctionBuilder<'_>,
    (function, parameter): (ArrayFunction, u32),
    operands: &[MatrixOperand],
    homes: &[Option<FramePlace>],
    ty: ScalarType,
) -> Vec<Option<Lanes>> {
    let results = MatrixResults::new(b, homes);
    let registers = area(b, *b"matregis", size_of::<MatrixRegisters>());
    for (index, operand) in operands.iter().enumerate() {
        let address = match operand {
            MatrixOperand::Memory(place) => place.address(b),
            MatrixOperand::Lanes(lanes) => {
                for (vector, &value) in lanes.values.iter().enumerate() {
                    let place = place_in_area(index, vector);
                    b.ins().stack_store(types::I64, value, results.area, place);
                }
                b.ins().stack_addr(types::I64, results.area, place_in_area(index, 0))
            }
        };
        b.ins().stack_store(types::I64, address, registers, 8 * index as i32);
    }
    results.put_addresses(b, registers, MatrixRegisters::RESULTS);
    call(b, function, registers, parameter);
    results.take(b, ty)
}

/// Calls a function of the record in a place.
fn call(b: &mut FunctionBuilder<'_>, function: ArrayFunction, record: StackSlot, parameter: u32) {
    let address = b.ins().stack_addr(types::I64, record, 0);
    let [parameter, unused] =
        [parameter, 0].map(|word| b.ins().iconst(types::I32, i64::from(word)));
    let function = function.import(b.func);
    b.ins().call(function, &[address, parameter, unused]);
}

/// The offset of a vector of an operand in the area, whose results follow the operands.
fn place_in_area(operand: usize, vector: usize) -> i32 {
    (operand * MatrixArea::PLACE + 16 * vector) as i32
}

/// The places of the results of a function over matrices: memory of their own, and of an area that all
/// functions share for those that have none.
struct MatrixResults<'a> {
    homes: &'a [Option<FramePlace>],
    area: StackSlot,
}

impl MatrixResults<'_> {
    fn new<'a>(b: &mut FunctionBuilder<'_>, homes: &'a [Option<FramePlace>]) -> MatrixResults<'a> {
        MatrixResults { homes, area: area(b, *b"matrices", size_of::<MatrixArea>()) }
    }

    /// Writes the addresses of the places into a record, one after the other.
    fn put_addresses(&self, b: &mut FunctionBuilder<'_>, record: StackSlot, at: usize) {
        for (index, &home) in self.homes.iter().enumerate() {
            let address = match home {
                Some(home) => home.address(b),
                None => {
                    let offset = place_in_area(MATRIX_SOURCES + index, 0);
                    b.ins().stack_addr(types::I64, self.area, offset)
                }
            };
            b.ins().stack_store(types::I64, address, record, (at + 8 * index) as i32);
        }
    }

    /// The lanes of the results that have no memory of their own.
    fn take(&self, b: &mut FunctionBuilder<'_>, ty: ScalarType) -> Vec<Option<Lanes>> {
        let vectors = vector_type(ty);
        let mut lanes = |index: usize| {
            let places = (0..count(vectors)).map(|at| place_in_area(MATRIX_SOURCES + index, at));
            let load = |place| b.ins().stack_load(types::I64, vectors, self.area, place);
            Lanes { values: places.map(load).collect() }
        };
        let homes = self.homes.iter().enumerate();
        homes.map(|(index, home)| home.is_none().then(|| lanes(index))).collect()
    }
}
