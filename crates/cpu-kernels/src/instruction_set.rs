//! Instruction sets: which one the processor has, and loops that are compiled for each of them.
//!
//! A loop is written once, as a [`Multiversioned`] type, and [`InstructionSet::version`] gives it as
//! a function compiled for one instruction set. Nothing in it names vectors: LLVM makes them, as
//! wide as the set has them.
//!
//! A multiplication is fused with an addition only where a loop asks for it by name
//! ([`f32::mul_add`]). Elementary functions do so in the sets that have an instruction for it, which
//! therefore agree with each other, and with the baseline within the functions' bounds. All else gives
//! the same numbers in every set.

use std::env;
use std::sync::LazyLock;

/// Instructions that kernels are compiled for, beyond what every processor of the architecture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstructionSet {
    /// The instructions that every processor of the architecture has: SSE2 on x86-64.
    Baseline,
    /// AVX2, FMA and F16C, and the bit manipulation that came with them.
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL besides.
    Avx512,
}

/// A loop that is compiled once for each instruction set.
///
/// `run` and all that it calls is marked `#[inline(always)]`: only what is inlined into the version
/// for an instruction set is compiled for it. Closures are inlined by themselves.
///
/// ```
/// use cpu_kernels::instruction_set::{InstructionSet, Isa, Multiversioned};
///
/// /// The sum of some numbers, in wrapping arithmetic.
/// struct Total;
///
/// impl Multiversioned for Total {
///     type Arguments = (*const i32, usize);
///     type Output = i32;
///
///     #[inline(always)]
///     unsafe fn run<I: Isa>((start, length): Self::Arguments) -> i32 {
///         // SAFETY: that many numbers lie there, as the call below sees to.
///         let numbers = unsafe { std::slice::from_raw_parts(start, length) };
///         numbers.iter().fold(0, |sum, &number| sum.wrapping_add(number))
///     }
/// }
///
/// let total = InstructionSet::current().version::<Total>();
/// let numbers = [1, 2, 3, 4];
/// // SAFETY: the numbers are borrowed for the call, and the processor has the current set.
/// assert_eq!(unsafe { total((numbers.as_ptr(), numbers.len())) }, 10);
/// ```
pub trait Multiversioned {
    /// Everything that the loop is told, usually as a struct or a tuple.
    type Arguments;
    /// The result.
    type Output;

    /// The loop. `I` is the set that it is being compiled for, where the loop has to know.
    ///
    /// # Safety
    /// The loop's own conditions.
    unsafe fn run<I: Isa>(arguments: Self::Arguments) -> Self::Output;
}

/// A [`Multiversioned`] loop in one of its versions.
///
/// # Safety
/// Callers keep the loop's own conditions, and the processor has the instruction set.
pub type Version<M> = unsafe fn(<M as Multiversioned>::Arguments) -> <M as Multiversioned>::Output;

/// An instruction set as a type, which loops are compiled for.
pub trait Isa: sealed::Sealed + Copy + 'static {
    /// The set.
    const SET: InstructionSet;

    /// Whether floats are rounded to integers and fused multiplications done by instructions of
    /// vectors. Without it, the functions of [`f32`] for that are calls, one per element.
    const HAS_ROUND_AND_FMA: bool = !matches!(Self::SET, InstructionSet::Baseline);
}

/// [`InstructionSet::Baseline`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct Baseline;

/// [`InstructionSet::Avx2`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct Avx2;

/// [`InstructionSet::Avx512`] as a type.
#[derive(Clone, Copy, Debug)]
pub struct Avx512;

impl Isa for Baseline {
    const SET: InstructionSet = InstructionSet::Baseline;
}

impl Isa for Avx2 {
    const SET: InstructionSet = InstructionSet::Avx2;
}

impl Isa for Avx512 {
    const SET: InstructionSet = InstructionSet::Avx512;
}

impl InstructionSet {
    /// Every set, from the least to the largest.
    pub const ALL: [InstructionSet; 3] =
        [InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512];

    /// The set that kernels are run in: the largest that the processor has, or a smaller one that
    /// the environment variable `SLUICE_CPU_CAPABILITY` names (`baseline`, `avx2`, `avx512`). It is
    /// decided once per process. A set that the processor does not have, and a name that is none,
    /// are reported to `tracing` and change nothing.
    pub fn current() -> InstructionSet {
        static CURRENT: LazyLock<InstructionSet> = LazyLock::new(|| {
            let asked = env::var("SLUICE_CPU_CAPABILITY").ok();
            choose(asked.as_deref(), detected())
        });
        *CURRENT
    }

    /// The sets that the processor has, from the least to the largest.
    pub fn supported() -> &'static [InstructionSet] {
        const ALL: &[InstructionSet] = &InstructionSet::ALL;
        &ALL[..=detected() as usize]
    }

    /// Whether the processor has this set.
    pub fn is_supported(self) -> bool {
        self <= detected()
    }

    /// The name in `SLUICE_CPU_CAPABILITY`.
    pub const fn name(self) -> &'static str {
        match self {
            InstructionSet::Baseline => "baseline",
            InstructionSet::Avx2 => "avx2",
            InstructionSet::Avx512 => "avx512",
        }
    }

    /// A loop in its version for this set. It is `const`, so tables of loops can be statics.
    pub const fn version<M: Multiversioned>(self) -> Version<M> {
        match self {
            InstructionSet::Baseline => baseline::<M>,
            InstructionSet::Avx2 => avx2::<M>,
            InstructionSet::Avx512 => avx512::<M>,
        }
    }
}

/// # Safety
/// The loop's own conditions.
unsafe fn baseline<M: Multiversioned>(arguments: M::Arguments) -> M::Output {
    // SAFETY: they are this function's, too.
    unsafe { M::run::<Baseline>(arguments) }
}

/// # Safety
/// The loop's own conditions, and the processor has AVX2, FMA, F16C, BMI 1 and 2, LZCNT and POPCNT.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"))]
unsafe fn avx2<M: Multiversioned>(arguments: M::Arguments) -> M::Output {
    // SAFETY: the loop's own conditions are among this function's.
    unsafe { M::run::<Avx2>(arguments) }
}

/// # Safety
/// The conditions of [`avx2`], and the processor has AVX-512 F, BW, CD, DQ and VL.
#[cfg_attr(
    target_arch = "x86_64",
    target_feature(
        enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
    )
)]
unsafe fn avx512<M: Multiversioned>(arguments: M::Arguments) -> M::Output {
    // SAFETY: the loop's own conditions are among this function's.
    unsafe { M::run::<Avx512>(arguments) }
}

/// The largest set that the processor has; the standard library asks it once and remembers.
#[cfg(target_arch = "x86_64")]
fn detected() -> InstructionSet {
    macro_rules! has {
        ($($feature:tt)*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
    }
    if !has!("avx2" "fma" "f16c" "bmi1" "bmi2" "lzcnt" "popcnt") {
        InstructionSet::Baseline
    } else if !has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
        InstructionSet::Avx2
    } else {
        InstructionSet::Avx512
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> InstructionSet {
    InstructionSet::Baseline
}

/// The set to run in, of those up to `largest`.
fn choose(asked: Option<&str>, largest: InstructionSet) -> InstructionSet {
    let Some(asked) = asked else { return largest };
    match InstructionSet::ALL.into_iter().find(|set| set.name() == asked) {
        Some(set) if set <= largest => set,
        Some(_) => {
            let most = largest.name();
            tracing::warn!("SLUICE_CPU_CAPABILITY={asked}: the processor has {most} at most");
            largest
        }
        None => {
            tracing::warn!("SLUICE_CPU_CAPABILITY={asked}: it is baseline, avx2 or avx512");
            largest
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Baseline {}
    impl Sealed for super::Avx2 {}
    impl Sealed for super::Avx512 {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_a_smaller_set_and_never_a_larger_one() {
        use InstructionSet::*;
        assert_eq!(choose(None, Avx512), Avx512);
        assert_eq!(choose(Some("baseline"), Avx512), Baseline);
        assert_eq!(choose(Some("avx2"), Avx2), Avx2);
        assert_eq!(choose(Some("avx512"), Avx2), Avx2);
        assert_eq!(choose(Some("sse9"), Avx2), Avx2);
    }

    #[test]
    fn every_set_up_to_the_largest_is_supported() {
        let supported = InstructionSet::supported();
        assert_eq!(supported[0], InstructionSet::Baseline);
        for set in InstructionSet::ALL {
            assert_eq!(set.is_supported(), supported.contains(&set));
        }
        assert!(InstructionSet::current().is_supported());
    }
}
