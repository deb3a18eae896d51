//! The text of printed kernels.

use expression::ptx::{KernelSpec, LayoutClass, PrintError, print};
use expression::{ComputeType, DType, Primitive};

use crate::primitives::expression_of;

const F32: ComputeType = ComputeType::F32;

#[test]
fn equal_kernels_have_equal_names_and_texts_and_others_have_other_names() {
    let of = |primitive, layout| {
        let expression = expression_of(primitive, &[F32, F32]);
        let spec = KernelSpec {
            name: Some("op"),
            expression: &expression,
            inputs: &[DType::F32; 2],
            outputs: &[DType::F32],
            layout,
        };
        print(&spec).expect("it can be printed")
    };
    let sum = of(Primitive::Add, LayoutClass::Dense);
    assert_eq!(sum, of(Primitive::Add, LayoutClass::Dense));
    let strided = LayoutClass::Strided { dims: 1, wide: false };
    for other in [of(Primitive::Mul, LayoutClass::Dense), of(Primitive::Add, strided)] {
        assert_ne!(sum.entry, other.entry);
    }
    assert!(sum.entry.starts_with("op_f32_f32_f32_dense_"), "{}", sum.entry);
}

#[test]
fn products_and_sums_are_not_contracted() {
    let expression = expression::trace(&[F32; 3], &[], |trace, inputs, _| {
        let product = trace.apply(Primitive::Mul, &inputs[..2]);
        [trace.apply(Primitive::Add, &[product, inputs[2]])].into_iter().collect()
    });
    let kernel = print(&KernelSpec {
        name: None,
        expression: &expression,
        inputs: &[DType::F32; 3],
        outputs: &[DType::F32],
        layout: LayoutClass::Dense,
    })
    .expect("it can be printed");
    assert!(kernel.text.contains("mul.rn.f32") && kernel.text.contains("add.rn.f32"));
    assert!(!kernel.text.contains("fma"));
    assert!(kernel.text.contains("ld.global.v4.f32"), "four elements are loaded at once");
    assert_eq!(kernel.elements_per_thread, 4);
}

#[test]
fn operands_that_do_not_fit_are_refused_with_their_numbers() {
    let expression = expression_of(Primitive::Add, &[F32, F32]);
    let spec = |inputs, layout| KernelSpec {
        name: None,
        expression: &expression,
        inputs,
        outputs: &[DType::F32],
        layout,
    };
    let wrong = print(&spec(&[DType::F32, DType::I8], LayoutClass::Dense));
    assert_eq!(
        wrong.expect_err("an i8 is no float").to_string(),
        "input 1 is F32 in the expression, and int8 is computed in I32"
    );
    let few = print(&spec(&[DType::F32], LayoutClass::Dense)).expect_err("one is missing");
    assert_eq!(few, PrintError::Count { what: "inputs", expected: 2, given: 1 });
    let dims = LayoutClass::Strided { dims: 9, wide: false };
    let many = print(&spec(&[DType::F32; 2], dims)).expect_err("nine are too many");
    assert_eq!(many, PrintError::Dimensions { given: 9, max: 8 });
}
