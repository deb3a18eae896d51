//! Strided tensors, and programs that are compared with the reference interpreter.

use cpu_kernels::{InstructionSet, Program, StridedPointer};
use expression::{DType, Expression};

use crate::guarded::Guarded;
use crate::numbers::{Random, are_same, load, store};

/// Elements in memory that ends with the last of them.
pub(crate) struct StridedTensor {
    pub(crate) dtype: DType,
    pub(crate) strides: Vec<isize>,
    memory: Guarded,
    /// The bytes before the first element, by the order of indices.
    first: usize,
}

impl StridedTensor {
    /// A tensor of zeros, of some strides for these sizes.
    pub(crate) fn zeros(dtype: DType, sizes: &[usize], strides: &[isize]) -> StridedTensor {
        let (mut least, mut most) = (0, 0);
        for (&size, &stride) in sizes.iter().zip(strides) {
            let reach = (size.max(1) - 1) as isize * stride;
            least += reach.min(0);
            most += reach.max(0);
        }
        let memory = Guarded::new(&vec![0; (most - least + 1) as usize * dtype.size()]);
        let first = (-least) as usize * dtype.size();
        StridedTensor { dtype, strides: strides.into(), memory, first }
    }

    pub(crate) fn random(
        random: &mut Random,
        dtype: DType,
        sizes: &[usize],
        strides: &[isize],
    ) -> StridedTensor {
        let mut tensor = StridedTensor::zeros(dtype, sizes, strides);
        tensor.fill_with(|_| store(dtype, random.value(dtype.compute_type())));
        tensor
    }

    /// Sets all elements of the memory, by their order there, to what has these bits.
    pub(crate) fn fill_with(&mut self, mut bits: impl FnMut(usize) -> u64) {
        let size = self.dtype.size();
        for (index, element) in self.memory.bytes_mut().chunks_exact_mut(size).enumerate() {
            element.copy_from_slice(&bits(index).to_le_bytes()[..size]);
        }
    }

    pub(crate) fn pointer(&self) -> StridedPointer<'_> {
        // SAFETY: the first element is within the memory.
        StridedPointer::new(unsafe { self.memory.start().add(self.first) }, &self.strides)
    }

    /// The bytes of the element at these indices.
    pub(crate) fn element(&self, indices: &[usize]) -> &[u8] {
        let at: isize = indices.iter().zip(&self.strides).map(|(&i, s)| i as isize * s).sum();
        let byte = (self.first as isize + at * self.dtype.size() as isize) as usize;
        &self.memory.bytes()[byte..byte + self.dtype.size()]
    }

    pub(crate) fn bits(&self, indices: &[usize]) -> u64 {
        let mut bytes = [0; 8];
        bytes[..self.dtype.size()].copy_from_slice(self.element(indices));
        u64::from_le_bytes(bytes)
    }
}

/// All indices of these sizes.
pub(crate) fn indices(sizes: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..sizes.iter().product()).map(move |mut number: usize| {
        let mut index = vec![0; sizes.len()];
        for (at, size) in index.iter_mut().zip(sizes).rev() {
            *at = number % size;
            number /= size;
        }
        index
    })
}

/// The strides of dense elements.
pub(crate) fn dense(sizes: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; sizes.len()];
    for dim in (1..sizes.len()).rev() {
        strides[dim - 1] = strides[dim] * sizes[dim].max(1) as isize;
    }
    strides
}

/// A call of an expression.
pub(crate) struct Call<'a> {
    pub(crate) expression: &'a Expression,
    pub(crate) sizes: &'a [usize],
    pub(crate) inputs: Vec<StridedTensor>,
    pub(crate) outputs: Vec<StridedTensor>,
    /// Which input an output is exactly, if it is one.
    pub(crate) in_place: Vec<Option<usize>>,
    pub(crate) scalars: Vec<u64>,
}

impl Call<'_> {
    /// Runs the program in an instruction set, and compares all results with those of `evaluate`.
    pub(crate) fn check(&self, set: InstructionSet) {
        let dtypes = |tensors: &[StridedTensor]| -> Vec<DType> {
            tensors.iter().map(|tensor| tensor.dtype).collect()
        };
        let (of_inputs, of_outputs) = (dtypes(&self.inputs), dtypes(&self.outputs));
        let expected: Vec<Vec<u64>> = indices(self.sizes).map(|at| self.expected(&at)).collect();
        let program = Program::for_instruction_set(set, self.expression, &of_inputs, &of_outputs);
        let inputs: Vec<_> = self.inputs.iter().map(StridedTensor::pointer).collect();
        let outputs: Vec<_> =
            (0..self.outputs.len()).map(|number| self.output(number).pointer()).collect();
        // SAFETY: the tensors have these sizes, and an output is an input or apart from all.
        unsafe { program.run(self.sizes, &outputs, &inputs, &self.scalars) };
        for (at, expected) in indices(self.sizes).zip(expected) {
            for (number, &expected) in expected.iter().enumerate() {
                let (output, dtype) = (self.output(number), of_outputs[number]);
                let found = output.bits(&at);
                assert!(
                    are_same(dtype, found, expected),
                    "{} in {}\n{of_inputs:?} to {of_outputs:?}, sizes {:?}, in place {:?}, \
                     output {number} at {at:?}: {found:#x}, not {expected:#x}",
                    self.expression,
                    set.name(),
                    self.sizes,
                    self.in_place,
                );
            }
        }
    }

    fn output(&self, number: usize) -> &StridedTensor {
        match self.in_place[number] {
            Some(input) => &self.inputs[input],
            None => &self.outputs[number],
        }
    }

    fn expected(&self, at: &[usize]) -> Vec<u64> {
        let inputs: Vec<u64> =
            self.inputs.iter().map(|input| load(input.dtype, input.element(at))).collect();
        let results = self.expression.evaluate(&inputs, &self.scalars);
        results.iter().zip(&self.outputs).map(|(&bits, to)| store(to.dtype, bits)).collect()
    }
}
