//! Products of matrices whose elements lie in the lanes' registers, and the exchange of their rows: calls
//! of functions, which find all registers in one area.

use cranelift_codegen::ir::{InstBuilder, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{MATRIX_SOURCES, MatrixForm, RowExchange, ScalarType};

use super::arrays::area;
use super::lanes::Lanes;
use super::shape::{count, vector_type};
use crate::codegen::array_functions::ArrayFunction;
use crate::runtime::MatrixArea;

/// The registers of the result of a product, from those of a, b and c.
pub(in crate::codegen) fn multiply(
    b: &mut FunctionBuilder<'_>,
    form: MatrixForm,
    operands: &[Lanes],
) -> Vec<Lanes> {
    let results = (form.results(), form.sum_register());
    call(b, ArrayFunction::MultiplyMatrices, form.number(), operands, results)
}

/// The words that lanes get from an exchange of rows.
pub(in crate::codegen) fn exchange_rows(
    b: &mut FunctionBuilder<'_>,
    exchange: RowExchange,
    operands: &[Lanes],
) -> Vec<Lanes> {
    let results = (exchange.results(), ScalarType::B32);
    call(b, ArrayFunction::ExchangeRows, exchange.number(), operands, results)
}

fn call(
    b: &mut FunctionBuilder<'_>,
    function: ArrayFunction,
    parameter: u32,
    operands: &[Lanes],
    (results, ty): (usize, ScalarType),
) -> Vec<Lanes> {
    let slot = area(b, *b"matrices", size_of::<MatrixArea>());
    let place = |index: usize, vector: usize| (index * MatrixArea::PLACE + 16 * vector) as i32;
    for (index, lanes) in operands.iter().enumerate() {
        for (vector, &value) in lanes.values.iter().enumerate() {
            b.ins().stack_store(types::I64, value, slot, place(index, vector));
        }
    }
    let address = b.ins().stack_addr(types::I64, slot, 0);
    let [number, unused] = [parameter, 0].map(|word| b.ins().iconst(types::I32, i64::from(word)));
    let function = function.import(b.func);
    b.ins().call(function, &[address, number, unused]);
    let vectors = vector_type(ty);
    let mut load = |index, vector| {
        b.ins().stack_load(types::I64, vectors, slot, place(MATRIX_SOURCES + index, vector))
    };
    (0..results)
        .map(|index| Lanes { values: (0..count(vectors)).map(|at| load(index, at)).collect() })
        .collect()
}
