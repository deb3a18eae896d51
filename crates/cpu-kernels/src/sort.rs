//! The order of the elements of rows: where each place of a sorted row has its element from.
//!
//! An element becomes a key, an unsigned number whose order is that of the elements, with its place
//! in the low bits: so no two items are equal, any method that sorts them is stable, and nothing but
//! integers is compared. Keys of up to 32 bits share a word with the place, and long rows are sorted
//! digit by digit where their keys lie in a range of few digits.

use std::ops::Range;

use expression::DType;

use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{BrainBits, HalfBits, StoredValue, TruthByte, stored_as};

/// Dense rows, and the part of their sorted order that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortShape {
    /// The number of rows.
    pub rows: usize,
    /// The number of elements in a row.
    pub size: usize,
    /// The first place of the sorted order that is wanted.
    pub first: usize,
    /// The number of places that are wanted, which a row has from the first one on.
    pub count: usize,
}

/// The order of elements of one dtype. Equal ones stay in the order of the row, and NaN, of which one
/// is like another, is greater than all numbers.
///
/// ```
/// use cpu_kernels::sort::{SortKernel, SortShape};
/// use expression::DType;
///
/// let (x, mut places) = ([3.0f32, f32::NAN, 1.0, 3.0], [0i64; 4]);
/// let shape = SortShape { rows: 1, size: 4, first: 0, count: 4 };
/// // SAFETY: both arrays have four elements.
/// unsafe {
///     SortKernel::new(DType::F32, false).run(shape, x.as_ptr().cast(), places.as_mut_ptr());
/// }
/// assert_eq!(places, [2, 0, 3, 1]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SortKernel {
    descending: bool,
    run: unsafe fn(SortWork),
}

/// A call: all rows are sorted, and what is wanted is written.
#[derive(Clone, Copy)]
struct SortWork {
    shape: SortShape,
    descending: bool,
    input: SharedPointer<u8>,
    places: SharedPointer<i64>,
}

/// Bytes that could be moved in the time that an element takes.
const COST: usize = 256;

/// The fewest items that are sorted digit by digit.
const MIN_ITEMS: usize = 1024;

/// The most digits by which that is faster than to compare items.
const MAX_DIGITS: usize = 4;

impl SortKernel {
    /// The kernel for a dtype.
    pub fn new(dtype: DType, descending: bool) -> SortKernel {
        macro_rules! by_dtype {
            ($($name:ident)+) => {
                match dtype { $(DType::$name => sort_rows::<stored_as!($name)>,)+ }
            };
        }
        let run: unsafe fn(SortWork) = by_dtype!(F64 F32 F16 BF16 I64 I32 I16 I8 U8 Bool);
        SortKernel { descending, run }
    }

    /// Writes, row by row, where the wanted places of the sorted order have their elements from, in
    /// the threads of the pool if there is much to do.
    ///
    /// # Safety
    /// `input` is valid for reads of `rows * size` elements that nobody writes, and `places` for
    /// writes of `rows * count` numbers that nobody else uses; `first + count` is at most `size`.
    pub unsafe fn run(&self, shape: SortShape, input: *const u8, places: *mut i64) {
        if shape.count == 0 {
            return;
        }
        let (input, places) = (SharedPointer::of_const(input), SharedPointer::new(places));
        // SAFETY: the function is the one for the dtype; the others are conditions of this function.
        unsafe { (self.run)(SortWork { shape, descending: self.descending, input, places }) }
    }
}

/// # Safety
/// The conditions of [`SortKernel::run`].
unsafe fn sort_rows<S: StoredValue<Compute: SortKey>>(work: SortWork) {
    let is_packed = S::Compute::BYTES <= 4 && u32::try_from(work.shape.size).is_ok();
    // SAFETY: the conditions of this function.
    unsafe { if is_packed { sort_items::<S, u64>(work) } else { sort_items::<S, u128>(work) } }
}

/// # Safety
/// The conditions of [`SortKernel::run`].
unsafe fn sort_items<S: StoredValue<Compute: SortKey>, T: SortItem>(work: SortWork) {
    let SortShape { rows, size, first, count } = work.shape;
    pool::split(rows, size.saturating_mul(COST), |range| {
        let (mut items, mut other) = (Vec::with_capacity(size), Vec::new());
        for row in range {
            // SAFETY: the row is one of the input's, and the places are those of this row, which no
            // other thread has (conditions of this function).
            let (elements, places) = unsafe {
                let elements = work.input.get().cast::<S>().cast_const().add(row * size);
                let places = work.places.get().add(row * count);
                (
                    std::slice::from_raw_parts(elements, size),
                    std::slice::from_raw_parts_mut(places, count),
                )
            };
            items.clear();
            items.extend(elements.iter().enumerate().map(|(place, element)| {
                let key = element.load().key();
                T::new(if work.descending { S::Compute::GREATEST_KEY - key } else { key }, place)
            }));
            let chosen = choose(&mut items, &mut other, first..first + count);
            for (place, item) in places.iter_mut().zip(chosen) {
                *place = item.place();
            }
        }
    });
}

/// The items of a range of places of the sorted order, in this order. `other` is room for as many as
/// there are items, and left as such.
fn choose<'a, T: SortItem>(
    items: &'a mut Vec<T>,
    other: &mut Vec<T>,
    wanted: Range<usize>,
) -> &'a [T] {
    if wanted.end < items.len() {
        items.select_nth_unstable(wanted.end - 1);
    } else if wanted.start == 0 && items.len() >= MIN_ITEMS && sort_by_digits(items, other) {
        return items;
    }
    let smallest = &mut items[..wanted.end];
    if wanted.start > 0 {
        smallest.select_nth_unstable(wanted.start);
    }
    let chosen = &mut smallest[wanted];
    chosen.sort_unstable();
    chosen
}

/// Sorts items by the digits of their keys' distances from the least one, the lowest one first, which
/// leaves equal ones in their order. If too many digits are not zero it does nothing, and says so.
fn sort_by_digits<T: SortItem>(items: &mut Vec<T>, other: &mut Vec<T>) -> bool {
    let least = items.iter().map(|item| item.key()).min().unwrap_or(0);
    let bits = items.iter().fold(0, |bits, item| bits | (item.key() - least));
    let shifts = (0..64).step_by(8).filter(|shift| (bits >> shift) as u8 != 0);
    if shifts.clone().count() > MAX_DIGITS {
        return false;
    }
    other.clear();
    other.extend_from_slice(items);
    for shift in shifts {
        let digit = |item: T| usize::from(((item.key() - least) >> shift) as u8);
        let mut places = [0usize; 256];
        for &item in items.iter() {
            places[digit(item)] += 1;
        }
        let mut next = 0;
        for place in &mut places {
            next += std::mem::replace(place, next);
        }
        for &item in items.iter() {
            let place = &mut places[digit(item)];
            other[*place] = item;
            *place += 1;
        }
        std::mem::swap(items, other);
    }
    true
}

/// A value that has a key: an unsigned number, in whose order it is sorted.
trait SortKey {
    /// The number of bytes of a key, which is at most [`SortKey::GREATEST_KEY`].
    const BYTES: usize;
    const GREATEST_KEY: u64 = u64::MAX >> (64 - 8 * Self::BYTES);

    fn key(self) -> u64;
}

macro_rules! sort_keys {
    ($($value:ty, $bytes:literal: $x:ident => $key:expr;)+) => {$(
        impl SortKey for $value {
            const BYTES: usize = $bytes;

            #[inline(always)]
            fn key(self) -> u64 {
                let $x = self;
                $key
            }
        }
    )+};
}

sort_keys! {
    f64, 8: x => float_key(x.to_bits(), 64, x == 0.0, x.is_nan());
    f32, 4: x => float_key(u64::from(x.to_bits()), 32, x == 0.0, x.is_nan());
    i64, 8: x => x as u64 ^ 1 << 63;
    i32, 4: x => u64::from(x as u32 ^ 1 << 31);
    TruthByte, 1: x => u64::from(x.0);
}

/// The key of a float of so many bits: negative ones come in the reverse order of their bits, and
/// before the others. Both zeros have one key, and all NaN have the greatest.
#[inline(always)]
fn float_key(bits: u64, width: u32, is_zero: bool, is_nan: bool) -> u64 {
    let (all, sign) = (u64::MAX >> (64 - width), 1 << (width - 1));
    let bits = if is_zero { 0 } else { bits };
    let key = if bits & sign == 0 { bits | sign } else { bits ^ all };
    if is_nan { all } else { key }
}

/// A key and the place of its element.
trait SortItem: Copy + Ord + Send {
    fn new(key: u64, place: usize) -> Self;
    fn place(self) -> i64;
    fn key(self) -> u64;
}

macro_rules! sort_items {
    ($($item:ty, $half:ty;)+) => {$(
        impl SortItem for $item {
            #[inline(always)]
            fn new(key: u64, place: usize) -> $item {
                <$item>::from(key) << <$half>::BITS | place as $item
            }

            #[inline(always)]
            fn place(self) -> i64 {
                self as $half as i64
            }

            #[inline(always)]
            fn key(self) -> u64 {
                (self >> <$half>::BITS) as u64
            }
        }
    )+};
}

sort_items! {
    u64, u32;
    u128, u64;
}
