//! Where native code leaves the lanes of operands, and finds those of results.

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// A place for a result, and places for its operands.
#[repr(C, align(16))]
pub(crate) struct Area {
    result: LaneArray,
    operands: [LaneArray; 4],
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

impl LaneArray {
    /// Lanes of zeros.
    pub(super) const ZEROS: LaneArray = LaneArray([0; LANES]);

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
