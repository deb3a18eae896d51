//! Where native code leaves the lanes of operands, and finds those of results.

use ptx::{MATRIX_RESULTS, MATRIX_SOURCES};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// A place for a result, and places for its operands.
#[repr(C, align(16))]
pub(crate) struct Area {
    result: LaneArray,
    operands: [LaneArray; 4],
}

/// Places for the operands and the results of an operation on matrices.
#[repr(C, align(16))]
pub(crate) struct MatrixArea {
    pub(super) operands: [LaneArray; MATRIX_SOURCES],
    pub(super) results: [LaneArray; MATRIX_RESULTS],
}

/// The addresses of the registers that an operation on matrices takes, and of those that it gives, with
/// an area in which it works.
#[repr(C)]
pub(crate) struct MatrixPlaces {
    operands: [*const u8; MATRIX_SOURCES],
    results: [*mut u8; MATRIX_RESULTS],
    area: *mut MatrixArea,
}

/// Room for 32 lanes of up to 64 bits; what is narrower lies at its start.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(crate) struct LaneArray([u64; LANES]);

impl Area {
    /// The distance from one operand to the next, and from the result to the first operand.
    pub(crate) const PLACE: usize = size_of::<LaneArray>();

    /// The lanes of the first operand, and of the result.
    #[inline(always)]
    pub(super) fn one<A: Plain, R: Plain>(&mut self) -> (&[A; LANES], &mut [R; LANES]) {
        (self.operands[0].lanes(), self.result.lanes_mut())
    }

    /// Writes a function of each lane of the first operand.
    #[inline(always)]
    pub(super) fn map<A: Plain, R: Plain>(&mut self, function: impl Fn(A) -> R) {
        let (a, result) = self.one();
        for (result, &a) in result.iter_mut().zip(a) {
            *result = function(a);
        }
    }

    /// Writes a function of those lanes of the first operand that need it, over what another has
    /// written.
    #[inline(always)]
    pub(super) fn mend<A: Plain, R: Plain>(
        &mut self,
        needs: impl Fn(A) -> bool,
        function: impl Fn(A) -> R,
    ) {
        let (a, result) = self.one();
        for (result, &a) in result.iter_mut().zip(a) {
            if needs(a) {
                *result = function(a);
            }
        }
    }

    /// Writes a function of each lane of two operands.
    #[inline(always)]
    pub(super) fn zip<A: Plain, B: Plain, R: Plain>(&mut self, function: impl Fn(A, B) -> R) {
        let [a, b, ..] = &self.operands;
        let (a, b): (&[A; LANES], &[B; LANES]) = (a.lanes(), b.lanes());
        let result: &mut [R; LANES] = self.result.lanes_mut();
        for lane in 0..LANES {
            result[lane] = function(a[lane], b[lane]);
        }
    }

    /// Writes a function of each lane of three operands.
    #[inline(always)]
    pub(super) fn zip3<A: Plain, B: Plain, C: Plain, R: Plain>(
        &mut self,
        function: impl Fn(A, B, C) -> R,
    ) {
        let [a, b, c, _] = &self.operands;
        let (a, b): (&[A; LANES], &[B; LANES]) = (a.lanes(), b.lanes());
        let c: &[C; LANES] = c.lanes();
        let result: &mut [R; LANES] = self.result.lanes_mut();
        for lane in 0..LANES {
            result[lane] = function(a[lane], b[lane], c[lane]);
        }
    }

    /// Writes a function of each lane of four operands.
    #[inline(always)]
    pub(super) fn zip4<A: Plain, B: Plain, C: Plain, D: Plain, R: Plain>(
        &mut self,
        function: impl Fn(A, B, C, D) -> R,
    ) {
        let [a, b, c, d] = &self.operands;
        let (a, b): (&[A; LANES], &[B; LANES]) = (a.lanes(), b.lanes());
        let (c, d): (&[C; LANES], &[D; LANES]) = (c.lanes(), d.lanes());
        let result: &mut [R; LANES] = self.result.lanes_mut();
        for lane in 0..LANES {
            result[lane] = function(a[lane], b[lane], c[lane], d[lane]);
        }
    }
}

impl MatrixPlaces {
    /// The distances of the first result's address, and of the area's, from the first address.
    pub(crate) const RESULTS: usize = std::mem::offset_of!(MatrixPlaces, results);
    pub(crate) const AREA: usize = std::mem::offset_of!(MatrixPlaces, area);

    /// The area with operands of those sizes, in bits of a lane, from their places.
    ///
    /// # Safety
    /// The area is nobody else's meanwhile. There are as many operands, of which all lanes can be read.
    pub(super) unsafe fn gather(&mut self, bits: impl Iterator<Item = u32>) -> &mut MatrixArea {
        // SAFETY: it is nobody else's (a condition of this function).
        let area = unsafe { &mut *self.area };
        for ((operand, &place), bits) in area.operands.iter_mut().zip(&self.operands).zip(bits) {
            // SAFETY: the lanes can be read (a condition of this function), and an operand has room for
            // lanes of 64 bits, the largest there are.
            unsafe { copy_lanes(place, std::ptr::from_mut(operand).cast(), bits) };
        }
        area
    }

    /// Brings so many results of the area to their places.
    ///
    /// # Safety
    /// As of [`gather`](Self::gather); all lanes of the results can be written.
    pub(super) unsafe fn scatter(&self, count: usize, bits: u32) {
        // SAFETY: it is nobody else's (a condition of this function).
        let area = unsafe { &*self.area };
        for (result, &place) in area.results.iter().zip(&self.results).take(count) {
            // SAFETY: the lanes can be written (a condition of this function).
            unsafe { copy_lanes(std::ptr::from_ref(result).cast(), place, bits) };
        }
    }
}

/// Copies lanes of 64 bits, or of fewer, of which there are 32. A place may be that of the area itself.
///
/// # Safety
/// They can be read, and written.
#[inline(always)]
unsafe fn copy_lanes(from: *const u8, to: *mut u8, bits: u32) {
    // Of sizes that are known, so that no call is made for them.
    match bits {
        // SAFETY: the lanes can be read and written (a condition of this function).
        64 => unsafe { to.cast::<[u64; LANES]>().write(from.cast::<[u64; LANES]>().read()) },
        // SAFETY: the lanes can be read and written (a condition of this function).
        _ => unsafe { to.cast::<[u32; LANES]>().write(from.cast::<[u32; LANES]>().read()) },
    }
}

impl MatrixArea {
    /// The distance from one operand to the next, and from the last one to the first result.
    pub(crate) const PLACE: usize = size_of::<LaneArray>();

    /// An area of zeros.
    pub(crate) fn new() -> MatrixArea {
        let zeros = LaneArray([0; LANES]);
        MatrixArea { operands: [zeros; MATRIX_SOURCES], results: [zeros; MATRIX_RESULTS] }
    }

    /// Sets a lane's operand, whose low bits are in use if it is `narrow`.
    pub(crate) fn set_operand(&mut self, index: usize, lane: usize, value: u64, narrow: bool) {
        match narrow {
            true => self.operands[index].lanes_mut::<u32>()[lane] = value as u32,
            false => self.operands[index].lanes_mut::<u64>()[lane] = value,
        }
    }

    /// A lane's result.
    pub(crate) fn result(&self, index: usize, lane: usize, narrow: bool) -> u64 {
        match narrow {
            true => u64::from(self.results[index].lanes::<u32>()[lane]),
            false => self.results[index].lanes::<u64>()[lane],
        }
    }
}

impl LaneArray {
    #[inline(always)]
    pub(super) fn lanes<T: Plain>(&self) -> &[T; LANES] {
        const { assert!(size_of::<T>() * LANES <= size_of::<LaneArray>()) };
        // SAFETY: the place is large enough, and aligned for every plain type; any bits are a value
        // of one.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    #[inline(always)]
    pub(super) fn lanes_mut<T: Plain>(&mut self) -> &mut [T; LANES] {
        const { assert!(size_of::<T>() * LANES <= size_of::<LaneArray>()) };
        // SAFETY: the place is large enough, and aligned for every plain type; any bits are a value
        // of one, and whatever is written is plain bits.
        unsafe { &mut *std::ptr::from_mut(self).cast() }
    }
}

/// A type of which any bits are a value.
///
/// # Safety
/// So it must be, without padding, and no type may need a larger alignment than 16.
pub(super) unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($ty:ty),*) => {
        $(
            // SAFETY: it is a number.
            unsafe impl Plain for $ty {}
        )*
    };
}

plain!(u16, u32, u64, i16, i32, i64, f32, f64);

// SAFETY: it is two numbers, one after the other.
unsafe impl Plain for [u16; 2] {}

// SAFETY: it is four numbers, one after the other.
unsafe impl Plain for [u8; 4] {}
