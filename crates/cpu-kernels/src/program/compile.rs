//! From expressions to steps over blocks.

use expression::{ComputeType, DType, Expression, Primitive, ValueDef, ValueId};
use smallvec::SmallVec;

use super::joints::{Joints, joints};
use super::{BlockStep, Program, UniformValue};
use crate::blocks;
use crate::instruction_set::InstructionSet;

impl Program {
    /// Compiles an expression for inputs and outputs of these dtypes, each of which is computed in
    /// the expression's type there.
    ///
    /// # Panics
    /// Numbers or types of inputs or outputs are not the expression's.
    pub fn new(expression: &Expression, inputs: &[DType], outputs: &[DType]) -> Program {
        Program::for_instruction_set(InstructionSet::current(), expression, inputs, outputs)
    }

    /// Compiles an expression for another instruction set than the current one.
    ///
    /// # Panics
    /// As [`Program::new`] does; or the processor does not have the set.
    pub fn for_instruction_set(
        set: InstructionSet,
        expression: &Expression,
        inputs: &[DType],
        outputs: &[DType],
    ) -> Program {
        assert!(set.is_supported(), "the processor has no {}", set.name());
        let types = |dtypes: &[DType]| -> Vec<ComputeType> {
            dtypes.iter().map(|dtype| dtype.compute_type()).collect()
        };
        let results: Vec<ComputeType> =
            expression.outputs().iter().map(|&output| expression.type_of(output)).collect();
        assert_eq!(types(inputs), expression.inputs(), "the types of the inputs");
        assert_eq!(types(outputs), results, "the types of the outputs");
        let mut compiler = ExpressionCompiler::new(set, expression);
        compiler.add_values();
        compiler.finish(inputs, outputs)
    }
}

/// A block of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValuePlace {
    Input(usize),
    Output(usize),
    /// By its number among those that are filled.
    Uniform(usize),
    Slot(usize),
}

struct ExpressionCompiler<'e> {
    set: InstructionSet,
    expression: &'e Expression,
    /// The steps that are several primitives.
    joints: Joints,
    /// The last step or store that reads a value.
    last_reads: Vec<usize>,
    /// The number of a value among the uniform ones.
    uniform_numbers: Vec<Option<usize>>,
    /// The places of values that are neither uniform nor dead.
    locations: Vec<Option<ValuePlace>>,
    uniforms: Vec<UniformValue>,
    filled: Vec<(usize, ComputeType)>,
    steps: Vec<BlockStep<ValuePlace>>,
    slots: Vec<usize>,
    free: Vec<usize>,
    cost: usize,
}

impl<'e> ExpressionCompiler<'e> {
    fn new(set: InstructionSet, expression: &'e Expression) -> ExpressionCompiler<'e> {
        let count = expression.values().len();
        let joints = joints(expression);
        ExpressionCompiler {
            set,
            expression,
            last_reads: last_reads(expression, &joints),
            joints,
            uniform_numbers: vec![None; count],
            locations: vec![None; count],
            uniforms: Vec::new(),
            filled: Vec::new(),
            steps: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            cost: 0,
        }
    }

    fn add_values(&mut self) {
        let expression = self.expression;
        let is_uniform = expression.uniform_values();
        for (number, (_, def)) in expression.values().iter().enumerate() {
            if is_uniform[number] {
                self.add_uniform(number, def);
                continue;
            }
            match def {
                ValueDef::Input(input) => {
                    self.locations[number] = Some(ValuePlace::Input(*input as usize));
                }
                ValueDef::Apply(primitive, operands) => {
                    self.cost += cost(*primitive, self.set);
                    if !self.joints.is_inner[number] {
                        self.add_apply(number, *primitive, operands);
                    }
                }
                ValueDef::Scalar(_) | ValueDef::Constant(_) => {
                    unreachable!("numbers are the same for all elements")
                }
            }
        }
    }

    fn add_uniform(&mut self, number: usize, def: &ValueDef) {
        let uniform = match def {
            ValueDef::Scalar(scalar) => UniformValue::Scalar(*scalar as usize),
            ValueDef::Constant(bits) => UniformValue::Constant(*bits),
            ValueDef::Apply(primitive, operands) => {
                let mut numbers = [0; 3];
                for (slot, operand) in numbers.iter_mut().zip(operands) {
                    *slot = self.uniform_numbers[operand.0 as usize]
                        .expect("what uniform values are computed from is uniform");
                }
                UniformValue::Apply(self.kernel(*primitive, operands), numbers)
            }
            ValueDef::Input(_) => unreachable!("inputs are not uniform"),
        };
        self.uniform_numbers[number] = Some(self.uniforms.len());
        self.uniforms.push(uniform);
    }

    fn kernel(&self, primitive: Primitive, operands: &[ValueId]) -> blocks::BlockKernel {
        let last = *operands.last().expect("every primitive has an operand");
        blocks::kernel(primitive, self.expression.type_of(last), self.set)
            .expect("expressions are made of functions that exist")
    }

    fn add_apply(&mut self, number: usize, primitive: Primitive, operands: &[ValueId]) {
        match self.joints.steps[number].take() {
            Some(step) => {
                let of = self.expression.type_of(ValueId(number as u32));
                let kernel = blocks::joint_kernel(step.joint, of, self.set)
                    .expect("values are joined where there is such a loop");
                self.add_step(number, kernel, &step.operands);
            }
            None => self.add_step(number, self.kernel(primitive, operands), operands),
        }
    }

    fn add_step(&mut self, number: usize, kernel: blocks::BlockKernel, operands: &[ValueId]) {
        // Operands that the primitive does not have are the first one, too.
        let mut places = [self.location(operands[0]); 3];
        for (place, &operand) in places.iter_mut().zip(operands) {
            *place = self.location(operand);
        }
        // A slot that is read for the last time may take the result, too.
        let now = self.steps.len();
        for &operand in operands {
            let is_last = self.last_reads[operand.0 as usize] == now;
            if let Some(ValuePlace::Slot(slot)) = self.locations[operand.0 as usize]
                && is_last
                && !self.free.contains(&slot)
            {
                self.free.push(slot);
            }
        }
        let out = self.result(number);
        self.locations[number] = Some(out);
        self.steps.push(BlockStep { kernel, out, operands: places });
    }

    /// The place of a value that was computed before.
    fn location(&mut self, value: ValueId) -> ValuePlace {
        let Some(uniform) = self.uniform_numbers[value.0 as usize] else {
            return self.locations[value.0 as usize].expect("operands come before their uses");
        };
        let known = self.filled.iter().position(|&(number, _)| number == uniform);
        ValuePlace::Uniform(known.unwrap_or_else(|| {
            self.filled.push((uniform, self.expression.type_of(value)));
            self.filled.len() - 1
        }))
    }

    /// The place for a result: the output that it is, or a slot.
    fn result(&mut self, number: usize) -> ValuePlace {
        let value = ValueId(number as u32);
        let outputs = self.expression.outputs();
        if let Some(output) = outputs.iter().position(|&output| output == value) {
            return ValuePlace::Output(output);
        }
        let size = self.expression.type_of(value).size();
        if let Some(at) = self.free.iter().position(|&slot| self.slots[slot] == size) {
            return ValuePlace::Slot(self.free.swap_remove(at));
        }
        self.slots.push(size);
        ValuePlace::Slot(self.slots.len() - 1)
    }

    fn finish(mut self, inputs: &[DType], outputs: &[DType]) -> Program {
        let expression = self.expression;
        let stores: Vec<ValuePlace> =
            expression.outputs().iter().map(|&output| self.location(output)).collect();
        let mut last_reads: SmallVec<[Option<usize>; 4]> = inputs.iter().map(|_| None).collect();
        for (number, (_, def)) in expression.values().iter().enumerate() {
            if let ValueDef::Input(input) = def {
                last_reads[*input as usize] = Some(self.last_reads[number]);
            }
        }
        let own = |output: usize| ValuePlace::Output(output);
        let writes = (0..outputs.len())
            .map(|output| {
                let written = self.steps.iter().position(|step| step.out == own(output));
                written.unwrap_or(self.steps.len() + output)
            })
            .collect();
        let is_plain = |dtype: &DType| dtype.compute_type().dtype() == *dtype;
        let are_own = stores.iter().enumerate().all(|(output, &store)| store == own(output));
        let copied = match (&stores[..], inputs, outputs) {
            ([ValuePlace::Input(_)], [input], [output]) if input == output => Some(input.size()),
            _ => None,
        };
        let filled = self.filled.len();
        let block = |location: ValuePlace| match location {
            ValuePlace::Input(input) => input,
            ValuePlace::Output(output) => inputs.len() + output,
            ValuePlace::Uniform(uniform) => inputs.len() + outputs.len() + uniform,
            ValuePlace::Slot(slot) => inputs.len() + outputs.len() + filled + slot,
        };
        let numbered = |step: &BlockStep<ValuePlace>| BlockStep {
            kernel: step.kernel,
            out: block(step.out),
            operands: step.operands.map(block),
        };
        let of_operands = inputs.iter().chain(outputs);
        let values: usize = of_operands.clone().map(|of| of.compute_type().size()).sum();
        let uniform_values: usize = self.filled.iter().map(|(_, of)| of.size()).sum();
        let stores: SmallVec<[usize; 2]> = stores.into_iter().map(block).collect();
        let operands = inputs.len() + outputs.len();
        let is_repeated = (0..operands + filled + self.slots.len())
            .map(|at| (operands..operands + filled).contains(&at) && !stores.contains(&at))
            .collect();
        Program {
            set: self.set,
            is_repeated,
            inputs: inputs.into(),
            outputs: outputs.into(),
            copied,
            is_plain: are_own && of_operands.clone().all(is_plain),
            steps: self.steps.iter().map(numbered).collect(),
            stores,
            last_reads,
            writes,
            value_bytes: values + uniform_values + self.slots.iter().sum::<usize>(),
            slots: self.slots.into(),
            cost: self.cost + of_operands.map(|of| of.size()).sum::<usize>(),
            uniforms: self.uniforms,
            filled: self.filled,
        }
    }
}

/// For each value the last step that reads it, or store, counted on from the steps.
fn last_reads(expression: &Expression, joints: &Joints) -> Vec<usize> {
    let is_uniform = expression.uniform_values();
    let mut last = vec![0; expression.values().len()];
    let mut step = 0;
    for (number, (_, def)) in expression.values().iter().enumerate() {
        if let ValueDef::Apply(_, operands) = def
            && !is_uniform[number]
            && !joints.is_inner[number]
        {
            let operands = joints.steps[number].as_ref().map_or(operands, |step| &step.operands);
            operands.iter().for_each(|operand| last[operand.0 as usize] = step);
            step += 1;
        }
    }
    for (store, output) in expression.outputs().iter().enumerate() {
        last[output.0 as usize] = step + store;
    }
    last
}

/// The time that a primitive takes for an element whose operands are in the cache, as the number of
/// bytes that are moved from memory meanwhile. It only decides how work is split.
fn cost(primitive: Primitive, set: InstructionSet) -> usize {
    use Primitive::*;
    // Vectors half as wide are computed twice as often.
    let vectors = match set {
        InstructionSet::Avx512 => 1,
        InstructionSet::Avx2 => 2,
        InstructionSet::Baseline => 4,
    };
    let of_widest = match primitive {
        Neg | Abs | Not | Floor | Ceil | Round | Trunc | Convert(_) | Add | Sub | Mul
        | Copysign | Nextafter | Max | Min | Fmax | Fmin | And | Or | Xor | Shl | Shr | Eq | Ne
        | Lt | Le | Gt | Ge | Select => 1,
        Sqrt | Rsqrt | Div | Exp | Exp2 | Sigmoid | Log | Log2 | Log10 => 16,
        FloorDiv | Remainder | Fmod | Gcd | Lgamma | Digamma | Pow => 128,
        Igamma | Igammac => 1024,
        _ => 48,
    };
    vectors * of_widest
}
