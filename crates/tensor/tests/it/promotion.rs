//! The dtype of a result, for every pair of operands, against PyTorch's table.

use serde_json::Value;
use tensor::{DType, Result, Scalar, Tensor};

use crate::expected::{Case, cases, dtype_named, with_default};

enum Operand {
    Tensor(Tensor),
    Number(Scalar),
}

#[test]
fn results_have_the_dtype_that_pytorch_gives_them() -> Result<()> {
    for case in cases("promotion") {
        let dtype = with_default(case.text("default"), || result_of(&case))?;
        assert_eq!(dtype, dtype_named(case.text("result")), "{}", case.raw("operands"));
    }
    Ok(())
}

/// Of an addition, which exists for every dtype.
fn result_of(case: &Case) -> Result<DType> {
    let operands = case.raw("operands");
    let sum = match (operand(&operands[0])?, operand(&operands[1])?) {
        (Operand::Tensor(a), Operand::Tensor(b)) => a.add(&b)?,
        // Addition commutes, so a number may stand on the right.
        (Operand::Tensor(a), Operand::Number(b)) | (Operand::Number(b), Operand::Tensor(a)) => {
            a.add(b)?
        }
        (Operand::Number(_), Operand::Number(_)) => panic!("two numbers are Rust's affair"),
    };
    Ok(sum.dtype())
}

fn operand(value: &Value) -> Result<Operand> {
    let dtype = dtype_named(value[1].as_str().expect("a dtype"));
    Ok(match value[0].as_str().expect("a kind") {
        "dimensioned" => Operand::Tensor(Tensor::ones([1], dtype)?),
        "zero_dim" => Operand::Tensor(Tensor::ones((), dtype)?),
        _ => Operand::Number(match dtype {
            DType::F64 => Scalar::Float(1.5),
            DType::I64 => Scalar::Int(1),
            _ => Scalar::Bool(true),
        }),
    })
}
