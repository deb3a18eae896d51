//! Operands in memory, as a layout and the bytes of an allocation, and expressions over them.

use expression::{DType, Expression};

use crate::elements::{decode, encode};

/// An operand: elements in an allocation of its own, at strides.
#[derive(Clone, Debug)]
pub(crate) struct HostOperand {
    pub(crate) dtype: DType,
    pub(crate) bytes: Vec<u8>,
    /// The element at the origin.
    pub(crate) start: usize,
    /// In elements, outermost first.
    pub(crate) strides: Vec<isize>,
}

impl HostOperand {
    /// Dense elements, `start` elements behind the beginning of their allocation.
    pub(crate) fn dense(dtype: DType, start: usize, elements: &[Vec<u8>]) -> HostOperand {
        let bytes = [vec![0; start * dtype.size()], elements.concat()].concat();
        HostOperand { dtype, bytes, start, strides: vec![1] }
    }

    fn place(&self, coordinates: &[usize]) -> usize {
        let steps = coordinates.iter().zip(&self.strides);
        let offset: isize = steps.map(|(&at, &stride)| at as isize * stride).sum();
        (self.start as isize + offset) as usize * self.dtype.size()
    }

    /// The element at some coordinates.
    pub(crate) fn at(&self, coordinates: &[usize]) -> &[u8] {
        &self.bytes[self.place(coordinates)..][..self.dtype.size()]
    }

    fn set(&mut self, coordinates: &[usize], element: &[u8]) {
        let place = self.place(coordinates);
        self.bytes[place..][..self.dtype.size()].copy_from_slice(element);
    }
}

/// What a kernel is to do: the outputs after it, element by element.
pub(crate) fn expected(
    expression: &Expression,
    sizes: &[usize],
    outputs: &[HostOperand],
    inputs: &[HostOperand],
    scalars: &[u64],
) -> Vec<HostOperand> {
    let mut outputs = outputs.to_vec();
    for_each(sizes, |coordinates| {
        let values: Vec<u64> =
            inputs.iter().map(|input| decode(input.dtype, input.at(coordinates))).collect();
        let results = expression.evaluate(&values, scalars);
        for (output, result) in outputs.iter_mut().zip(results) {
            let element = encode(output.dtype, result);
            output.set(coordinates, &element);
        }
    });
    outputs
}

/// Calls `visit` with the coordinates of every element.
pub(crate) fn for_each(sizes: &[usize], mut visit: impl FnMut(&[usize])) {
    let numel: usize = sizes.iter().product();
    let mut coordinates = vec![0; sizes.len()];
    for _ in 0..numel {
        visit(&coordinates);
        for (at, size) in coordinates.iter_mut().zip(sizes).rev() {
            *at += 1;
            if *at < *size {
                break;
            }
            *at = 0;
        }
    }
}
