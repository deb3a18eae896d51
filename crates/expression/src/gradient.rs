//! Derivatives, which are expressions as well.

mod adjoint;
mod reverse;
mod rules;

use smallvec::SmallVec;

use crate::{Expression, Value, trace};

/// An operand of a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GradientOperand {
    /// An input of the function that is differentiated.
    Input(usize),
    /// A result of that function. It is used instead of inputs where that saves work.
    Output(usize),
    /// The gradient of the loss by a result.
    Cotangent(usize),
}

/// The derivative of an expression: the gradients by its inputs, as a function of its inputs,
/// results, and the gradients by these (a vector-Jacobian product).
///
/// Only what the function needs is an operand, so that the operands of an operation's derivative
/// are what has to be saved for it. Its scalars are those of the expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gradient {
    /// The function.
    pub expression: Expression,
    /// The value that each input of the function takes.
    pub operands: Vec<GradientOperand>,
    /// The number of the input that each result of the function is the gradient of.
    pub inputs: Vec<usize>,
    /// The inputs whose gradient is zero everywhere. They are not among `inputs`.
    pub zeros: Vec<usize>,
}

/// The values that a derivative may be computed from.
#[derive(Clone, Copy)]
pub struct GradientValues<'v, 't> {
    /// The inputs of the function that is differentiated.
    pub inputs: &'v [Value<'t>],
    /// Its scalars.
    pub scalars: &'v [Value<'t>],
    /// Its results.
    pub outputs: &'v [Value<'t>],
    /// The gradients by its results.
    pub cotangents: &'v [Value<'t>],
}

impl Gradient {
    /// The derivative without the conversions with which its results end, from `F64` to the `F32` of an
    /// input: for who sums the gradient of an operand that was broadcast before it is rounded.
    pub fn before_rounding(self) -> Gradient {
        Gradient { expression: self.expression.with_wide_outputs(), ..self }
    }
}

impl Expression {
    /// The gradients by the inputs for which `wrt` says true. Inputs of integers and truth values
    /// have none.
    ///
    /// Where the function has a kink, the conventions are PyTorch's: the gradient of `abs` at 0 is
    /// 0, `max` and `min` of equal operands share it in halves, and a bound that is a constant or a
    /// scalar takes it where the operand equals it. What [`select`](Value::select) does not
    /// choose gets exactly 0, even if its own derivative is infinite there.
    ///
    /// ```
    /// use expression::{ComputeType, GradientOperand::*, elementwise};
    ///
    /// let f = elementwise([ComputeType::F32], |[x]| x.tanh());
    /// let gradient = f.gradient(&[true]);
    /// // The result is saved, and not the input.
    /// assert_eq!(gradient.operands, [Output(0), Cotangent(0)]);
    /// assert_eq!(gradient.inputs, [0]);
    /// let expected = elementwise([ComputeType::F32; 2], |[y, grad]| grad * (1.0 - y * y));
    /// assert_eq!(gradient.expression, expected);
    /// ```
    ///
    /// # Panics
    /// `wrt` is not as long as the inputs are many.
    pub fn gradient(&self, wrt: &[bool]) -> Gradient {
        self.gradient_of(wrt, &vec![true; self.outputs().len()])
    }

    /// The same, where only the results for which `outputs` says true have a gradient, and that of
    /// the others is zero.
    ///
    /// # Panics
    /// `wrt` is not as long as the inputs are many, or `outputs` not as the results.
    pub fn gradient_of(&self, wrt: &[bool], outputs: &[bool]) -> Gradient {
        assert_eq!(outputs.len(), self.outputs().len(), "one `bool` for each result");
        self.gradient_by(wrt, |values| reverse::pull_back(self, wrt, outputs, values))
    }

    /// The derivative that a closure computes, instead of the one that is derived: for each input
    /// its gradient, or `None` if that is zero. Gradients that `wrt` does not ask for are left out.
    ///
    /// ```
    /// use expression::{ComputeType, elementwise};
    ///
    /// // The gradient of `x.round()` is zero; this one goes straight through.
    /// let f = elementwise([ComputeType::F32], |[x]| x.round());
    /// let straight = f.gradient_by(&[true], |values| vec![Some(values.cotangents[0])]);
    /// assert_eq!(straight.expression, elementwise([ComputeType::F32], |[grad]| grad));
    /// ```
    ///
    /// # Panics
    /// `wrt` or what the closure gives is not as long as the inputs are many, or a gradient's type
    /// is not its input's.
    pub fn gradient_by(
        &self,
        wrt: &[bool],
        f: impl for<'v, 't> FnOnce(GradientValues<'v, 't>) -> Vec<Option<Value<'t>>>,
    ) -> Gradient {
        assert_eq!(wrt.len(), self.inputs().len(), "one `bool` for each input");
        let results = self.outputs().iter().map(|&output| self.type_of(output));
        let types: Vec<_> =
            self.inputs().iter().copied().chain(results.clone()).chain(results).collect();
        let (mut inputs, mut zeros) = (Vec::new(), Vec::new());
        let whole = trace(&types, self.scalars(), |_, values, scalars| {
            let (primals, results) = values.split_at(self.inputs().len());
            let (outputs, cotangents) = results.split_at(self.outputs().len());
            let gradients = f(GradientValues { inputs: primals, scalars, outputs, cotangents });
            assert_eq!(gradients.len(), wrt.len(), "one gradient for each input");
            let mut kept = SmallVec::new();
            for (number, gradient) in gradients.into_iter().enumerate() {
                let of = self.inputs()[number];
                if !wrt[number] || !of.is_float() {
                    continue;
                }
                match gradient.filter(|gradient| !gradient.is_zero()) {
                    None => zeros.push(number),
                    Some(gradient) => {
                        assert_eq!(gradient.compute_type(), of, "the gradient of input {number}");
                        kept.push(gradient);
                        inputs.push(number);
                    }
                }
            }
            kept
        });
        let (expression, used) = whole.without_unused_inputs();
        let operands = used.into_iter().map(|number| self.gradient_operand(number)).collect();
        Gradient { expression, operands, inputs, zeros }
    }

    fn gradient_operand(&self, number: usize) -> GradientOperand {
        let (inputs, outputs) = (self.inputs().len(), self.outputs().len());
        if number < inputs {
            GradientOperand::Input(number)
        } else if number < inputs + outputs {
            GradientOperand::Output(number - inputs)
        } else {
            GradientOperand::Cotangent(number - inputs - outputs)
        }
    }
}
