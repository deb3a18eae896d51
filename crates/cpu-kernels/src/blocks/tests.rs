//! Whether there is a loop for each primitive.

use expression::{ComputeType, Primitive};

use super::kernel;
use crate::instruction_set::InstructionSet;

#[test]
fn there_is_a_kernel_for_each_function_and_for_nothing_else() {
    for &primitive in &Primitive::ALL {
        for of in ComputeType::ALL {
            let mut types = vec![of; primitive.arity()];
            if primitive == Primitive::Select {
                types[0] = ComputeType::Bool;
            }
            let exists = primitive.result_type(&types).is_some();
            let found = kernel(primitive, of, InstructionSet::Baseline).is_some();
            assert_eq!(found, exists, "{primitive:?} of {of:?}");
        }
    }
}
