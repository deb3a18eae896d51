//! The registers that operations on matrices take and give.

use ptx::{MATRIX_RESULTS, MATRIX_SOURCES};

use crate::runtime::lanes::area::{LANES, LaneArray, Plain};

/// The addresses of the lanes of each operand and of each result, as many as an operation has. A result
/// may lie where an operand does.
///
/// Whoever makes one, native code or a [`MatrixArea`], has lanes there of the sizes that the operation
/// reads and writes, and lets nobody else touch them meanwhile.
#[repr(C)]
pub(crate) struct MatrixRegisters {
    operands: [*const u8; MATRIX_SOURCES],
    results: [*mut u8; MATRIX_RESULTS],
}

impl MatrixRegisters {
    /// The distance of the first result's address from the first operand's.
    pub(crate) const RESULTS: usize = std::mem::offset_of!(MatrixRegisters, results);

    /// The lanes of an operand.
    #[inline(always)]
    pub(super) fn operand<T: Plain>(&self, index: usize) -> &[T; LANES] {
        // SAFETY: lanes of that size lie there, and are not written as long as this is borrowed. Any bits
        // are a value of the type, and places are aligned for the largest.
        unsafe { &*self.operands[index].cast() }
    }

    /// The lanes of a result. No operand is borrowed, and so none that lies there is read any more.
    #[inline(always)]
    pub(super) fn result<T: Plain>(&mut self, index: usize) -> &mut [T; LANES] {
        // SAFETY: lanes of that size lie there, and nobody else touches them as long as this is borrowed.
        unsafe { &mut *self.results[index].cast() }
    }
}

/// Places for the operands and the results of an operation on matrices.
#[repr(C, align(16))]
pub(crate) struct MatrixArea {
    operands: [LaneArray; MATRIX_SOURCES],
    results: [LaneArray; MATRIX_RESULTS],
}

impl MatrixArea {
    /// The distance from one operand to the next, and from the last one to the first result.
    pub(crate) const PLACE: usize = size_of::<LaneArray>();

    /// An area of zeros.
    pub(crate) fn new() -> MatrixArea {
        MatrixArea {
            operands: [LaneArray::ZEROS; MATRIX_SOURCES],
            results: [LaneArray::ZEROS; MATRIX_RESULTS],
        }
    }

    /// Sets a lane's operand, whose low bits are in use if it is `narrow`.
    pub(crate) fn set_operand(&mut self, index: usize, lane: usize, value: u64, narrow: bool) {
        match narrow {
            true => self.operands[index].lanes_mut::<u32>()[lane] = value as u32,
            false => self.operands[index].lanes_mut::<u64>()[lane] = value,
        }
    }

    /// Does an operation on its registers.
    pub(crate) fn with_registers(&mut self, operation: impl FnOnce(&mut MatrixRegisters)) {
        operation(&mut MatrixRegisters {
            operands: self.operands.each_ref().map(|lanes| std::ptr::from_ref(lanes).cast()),
            results: self.results.each_mut().map(|lanes| std::ptr::from_mut(lanes).cast()),
        });
    }

    /// A lane's result.
    pub(crate) fn result(&self, index: usize, lane: usize, narrow: bool) -> u64 {
        match narrow {
            true => u64::from(self.results[index].lanes::<u32>()[lane]),
            false => self.results[index].lanes::<u64>()[lane],
        }
    }
}
