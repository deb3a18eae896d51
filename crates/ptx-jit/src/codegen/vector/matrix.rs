//! Products of matrices whose elements lie in the lanes' registers, and the exchange of their rows: calls
//! of functions, which are told where each register lies.

use cranelift_codegen::ir::{InstBuilder, StackSlot, Type, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{MATRIX_SOURCES, MatrixForm, RowExchange, ScalarType};

use super::arrays::{area, new_area};
use super::lanes::Lanes;
use super::shape::{count, vector_type};
use crate::codegen::array_functions::ArrayFunction;
use crate::runtime::{MatrixArea, MatrixPlaces};

/// A register that an operation on matrices takes.
pub(in crate::codegen) enum MatrixOperand {
    /// It lies in memory.
    Memory(StackSlot),
    Lanes(Lanes),
}

/// Memory of a function for a register of so many vectors, with which functions over matrices work.
pub(in crate::codegen) fn memory_for(
    b: &mut FunctionBuilder<'_>,
    vectors: Type,
    count: usize,
) -> StackSlot {
    new_area(b, None, vectors.bytes() as usize * count)
}

/// Multiplies matrices, of which the registers of a, b and c are given. The results are written to their
/// memory; those that have none are given.
pub(in crate::codegen) fn multiply(
    b: &mut FunctionBuilder<'_>,
    form: MatrixForm,
    operands: &[MatrixOperand],
    homes: &[Option<StackSlot>],
) -> Vec<Option<Lanes>> {
    let call = (ArrayFunction::MultiplyMatrices, form.number());
    call_function(b, call, operands, homes, form.sum_register())
}

/// Exchanges rows, and gives lanes their words as [`multiply`] does its results.
pub(in crate::codegen) fn exchange_rows(
    b: &mut FunctionBuilder<'_>,
    exchange: RowExchange,
    operands: &[MatrixOperand],
    homes: &[Option<StackSlot>],
) -> Vec<Option<Lanes>> {
    let call = (ArrayFunction::ExchangeRows, exchange.number());
    call_function(b, call, operands, homes, ScalarType::B32)
}

fn call_function(
    b: &mut FunctionBuilder<'_>,
    (function, parameter): (ArrayFunction, u32),
    operands: &[MatrixOperand],
    homes: &[Option<StackSlot>],
    ty: ScalarType,
) -> Vec<Option<Lanes>> {
    // For what has no memory of its own.
    let shared = area(b, *b"matrices", size_of::<MatrixArea>());
    let places = area(b, *b"matplace", size_of::<MatrixPlaces>());
    let place = |index: usize, vector: usize| (index * MatrixArea::PLACE + 16 * vector) as i32;
    let put = |b: &mut FunctionBuilder<'_>, at: usize, home: StackSlot, offset: i32| {
        let address = b.ins().stack_addr(types::I64, home, offset);
        b.ins().stack_store(types::I64, address, places, at as i32);
    };
    for (index, operand) in operands.iter().enumerate() {
        match operand {
            MatrixOperand::Memory(home) => put(b, 8 * index, *home, 0),
            MatrixOperand::Lanes(lanes) => {
                for (vector, &value) in lanes.values.iter().enumerate() {
                    b.ins().stack_store(types::I64, value, shared, place(index, vector));
                }
                put(b, 8 * index, shared, place(index, 0));
            }
        }
    }
    for (index, &home) in homes.iter().enumerate() {
        let at = MatrixPlaces::RESULTS + 8 * index;
        match home {
            Some(home) => put(b, at, home, 0),
            None => put(b, at, shared, place(MATRIX_SOURCES + index, 0)),
        }
    }
    put(b, MatrixPlaces::AREA, shared, 0);
    let address = b.ins().stack_addr(types::I64, places, 0);
    let [number, unused] = [parameter, 0].map(|word| b.ins().iconst(types::I32, i64::from(word)));
    let function = function.import(b.func);
    b.ins().call(function, &[address, number, unused]);
    let vectors = vector_type(ty);
    let mut load = |index, vector| {
        b.ins().stack_load(types::I64, vectors, shared, place(MATRIX_SOURCES + index, vector))
    };
    let mut result = |(index, home): (usize, &Option<StackSlot>)| match home {
        Some(_) => None,
        None => Some(Lanes { values: (0..count(vectors)).map(|at| load(index, at)).collect() }),
    };
    homes.iter().enumerate().map(&mut result).collect()
}
