//! Gradients that are zero on one side of a condition.

use smallvec::SmallVec;

use crate::Value;

/// A gradient by a value, or a part of it. Where the condition denies it, it is exactly zero, and
/// stays so whatever it is multiplied by, infinities and NaN included: a branch that was not taken
/// has no influence.
#[derive(Clone, Copy)]
pub(super) struct Adjoint<'t> {
    /// The condition, and whether the gradient is zero where that is true (instead of false).
    mask: Option<(Value<'t>, bool)>,
    gradient: Value<'t>,
}

impl<'t> Adjoint<'t> {
    pub(super) fn everywhere(gradient: Value<'t>) -> Self {
        Adjoint { mask: None, gradient }
    }

    pub(super) fn gradient(self) -> Value<'t> {
        self.gradient
    }

    /// Another gradient with the zeros of this one.
    pub(super) fn with_gradient(self, gradient: Value<'t>) -> Self {
        Adjoint { mask: self.mask, gradient }
    }

    /// This gradient where `condition` is true (or, if `denied`, false), and zero elsewhere.
    pub(super) fn masked(self, condition: Value<'t>, denied: bool) -> Self {
        let mask = match self.mask {
            None => (condition, denied),
            Some((earlier, was_denied)) => {
                let positive = |value: Value<'t>, denied: bool| if denied { !value } else { value };
                (positive(earlier, was_denied) & positive(condition, denied), false)
            }
        };
        Adjoint { mask: Some(mask), gradient: self.gradient }
    }

    /// The gradient as one value.
    fn value(self) -> Value<'t> {
        match self.mask {
            None => self.gradient,
            Some((condition, true)) => condition.select(0.0, self.gradient),
            Some((condition, false)) => condition.select(self.gradient, 0.0),
        }
    }
}

/// The parts of the gradient by one value.
#[derive(Clone, Default)]
pub(super) struct AdjointParts<'t>(SmallVec<[Adjoint<'t>; 2]>);

impl<'t> AdjointParts<'t> {
    /// Adds a part to those with the same zeros, or to the list.
    pub(super) fn add(&mut self, part: Adjoint<'t>) {
        match self.0.iter_mut().find(|other| other.mask == part.mask) {
            Some(other) => other.gradient = other.gradient + part.gradient,
            None => self.0.push(part),
        }
    }

    /// The sum. It keeps its zeros if there is one part only.
    pub(super) fn sum(&self) -> Option<Adjoint<'t>> {
        match self.0.as_slice() {
            [] => None,
            [part] => Some(*part),
            [first, second] if let Some(both) = either_or(*first, *second) => {
                Some(Adjoint::everywhere(both))
            }
            parts => parts
                .iter()
                .map(|part| part.value())
                .reduce(|sum, part| sum + part)
                .map(Adjoint::everywhere),
        }
    }

    /// The sum as one value.
    pub(super) fn value(&self) -> Option<Value<'t>> {
        self.sum().map(Adjoint::value)
    }
}

/// Two parts of which at each element one is zero.
fn either_or<'t>(a: Adjoint<'t>, b: Adjoint<'t>) -> Option<Value<'t>> {
    match (a.mask, b.mask) {
        (Some((condition, false)), Some((other, true))) if condition == other => {
            Some(condition.select(a.gradient, b.gradient))
        }
        (Some((condition, true)), Some((other, false))) if condition == other => {
            Some(condition.select(b.gradient, a.gradient))
        }
        _ => None,
    }
}
