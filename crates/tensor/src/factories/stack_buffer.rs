//! Rows that are stacked one by one, into memory that was used for it before.

use std::collections::VecDeque;
use std::fmt;

use super::data::{Data, Number};
use crate::access::ExclusiveTensor;
use crate::{DType, Device, Element, Error, Result, Shape, Tensor};

/// The most tensors that a buffer keeps to fill them anew.
const MAX_KEPT: usize = 16;

const OP: &str = "stack";

/// A stack of rows that is made again and again, as a loader makes batches
/// (`torch.stack(.., out=..)`).
///
/// Each row is copied once, to where it stays. The buffer keeps up to 16 of the tensors that it has
/// handed out, and fills one anew as soon as nobody else has a handle on it or on its memory, no
/// device is copying it, and no graph uses it: then a stack of rows of the same shape as before
/// allocates nothing.
///
/// Rows on a CUDA device, and rows that require gradients, are joined by [`Tensor::stack`].
///
/// ```
/// use tensor::{StackBuffer, tensor};
///
/// let mut buffer = StackBuffer::new(false);
/// for first in [0.0f32, 10.0] {
///     buffer.begin(2);
///     buffer.push(&tensor![first, 1.0]?)?;
///     buffer.push_data(&[first, 2.0])?;
///     let stacked = buffer.finish()?;
///     assert_eq!(stacked.shape(), [2, 2]);
///     assert_eq!(stacked.to_vec::<f32>()?, [first, 1.0, first, 2.0]);
/// } // the second one lies in the memory of the first
/// # Ok::<(), tensor::Error>(())
/// ```
pub struct StackBuffer {
    pin_memory: bool,
    /// The number of rows that the stack will have.
    rows: usize,
    stack: StackState,
    kept: VecDeque<Option<Tensor>>,
    /// The rows of the stack, once there is one.
    first: RowLayout,
    /// The sizes of the row at hand.
    sizes: Vec<usize>,
}

/// The layout that all rows of a stack have.
struct RowLayout {
    sizes: Vec<usize>,
    numel: usize,
    dtype: DType,
}

/// The stack that is being made.
enum StackState {
    Empty,
    Filling {
        target: ExclusiveTensor,
        filled: usize,
    },
    /// Rows that do not lie on the CPU, or that require gradients.
    Rows(Vec<Tensor>),
}

impl StackBuffer {
    /// A buffer whose tensors lie in page-locked memory or not. Nothing is allocated yet.
    pub fn new(pin_memory: bool) -> StackBuffer {
        let first = RowLayout { sizes: Vec::new(), numel: 0, dtype: DType::U8 };
        let (stack, kept, sizes) = (StackState::Empty, VecDeque::new(), Vec::new());
        StackBuffer { pin_memory, rows: 0, stack, kept, first, sizes }
    }

    /// Begins a stack of so many rows. One that was not finished is dropped.
    pub fn begin(&mut self, rows: usize) {
        (self.rows, self.stack) = (rows, StackState::Empty);
    }

    /// Adds a row. A copy in flight into it is waited for.
    ///
    /// # Errors
    /// Its shape, dtype or device differs from the first one's; there are as many rows as were
    /// announced; or memory is short, or page-locked memory is asked for and there is no driver.
    #[track_caller]
    pub fn push(&mut self, row: &Tensor) -> Result<()> {
        match &mut self.stack {
            StackState::Empty if row.is_cuda() || row.requires_grad() => {
                self.stack = StackState::Rows(vec![row.clone()]);
                return Ok(());
            }
            StackState::Rows(rows) => {
                let first = &rows[0];
                expect_same((first.shape(), first.dtype()), (row.shape(), row.dtype()))?;
                rows.push(row.clone());
                return Ok(());
            }
            StackState::Empty | StackState::Filling { .. } => {}
        }
        if row.is_cuda() {
            let arguments = vec![("the first", Device::Cpu), ("the next", row.device())];
            return Err(Error::DeviceMismatch { op: OP, arguments });
        }
        let row = row.detach().contiguous()?;
        self.sizes.clear();
        self.sizes.extend_from_slice(row.shape());
        let (target, start) = self.place(row.dtype(), row.numel())?;
        target.write_tensor(start, &row)?;
        *self.filling().1 += 1;
        Ok(())
    }

    /// Adds a row of Rust data: a number, or nested arrays and vectors of numbers. Each number is an
    /// element of its own type, an `i32` of `I64`.
    ///
    /// # Errors
    /// As [`push`](StackBuffer::push), or the data is ragged.
    #[track_caller]
    pub fn push_data<D: Data>(&mut self, row: &D) -> Result<()> {
        self.sizes.clear();
        D::measure(Some(row), &mut self.sizes);
        let mut numbers = Vec::new();
        let elements = match D::elements(std::slice::from_ref(row)) {
            Some(elements) => elements,
            None => {
                row.append(OP, &self.sizes, &mut numbers)?;
                &numbers
            }
        };
        let dtype = <<D::Number as Number>::Stored as Element>::DTYPE;
        let (target, start) = self.place(dtype, elements.len())?;
        target.write(start, elements);
        // Only now: nobody may read elements that were never written.
        *self.filling().1 += 1;
        Ok(())
    }

    /// Adds a row of the given sizes, and gives its elements, in row-major order, to be written. Until
    /// then they are zero, or what an earlier stack had there.
    ///
    /// ```
    /// use tensor::StackBuffer;
    ///
    /// let mut buffer = StackBuffer::new(false);
    /// buffer.begin(2);
    /// for first in [0, 10] {
    ///     let row = buffer.push_empty::<i64>(&[3])?;
    ///     (first..).zip(row).for_each(|(number, element)| *element = number);
    /// }
    /// assert_eq!(buffer.finish()?.to_vec::<i64>()?, [0, 1, 2, 10, 11, 12]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`push`](StackBuffer::push).
    #[track_caller]
    pub fn push_empty<T: Element>(&mut self, sizes: &[usize]) -> Result<&mut [T]> {
        self.sizes.clear();
        self.sizes.extend_from_slice(sizes);
        let numel = sizes.iter().try_fold(1usize, |numel, &size| numel.checked_mul(size));
        let numel = numel.unwrap_or(usize::MAX);
        let (_, start) = self.place(T::DTYPE, numel)?;
        let (target, filled) = self.filling();
        *filled += 1;
        Ok(target.elements_mut(start, numel))
    }

    /// The place of the row at hand: the stack, and the number of its first element there.
    #[track_caller]
    #[inline]
    fn place(&mut self, dtype: DType, numel: usize) -> Result<(&mut ExclusiveTensor, usize)> {
        let first = &self.first;
        let fits = matches!(self.stack, StackState::Filling { filled, .. } if filled < self.rows)
            && (first.numel, first.dtype) == (numel, dtype)
            && first.sizes.iter().eq(&self.sizes);
        if !fits {
            self.begin_rows(dtype, numel)?;
        }
        let (target, filled) = self.filling();
        Ok((target, *filled * numel))
    }

    /// The stack that is being made, and the number of its rows so far. There is one.
    #[inline]
    fn filling(&mut self) -> (&mut ExclusiveTensor, &mut usize) {
        match &mut self.stack {
            StackState::Filling { target, filled } => (target, filled),
            StackState::Empty | StackState::Rows(_) => unreachable!("the stack has a row"),
        }
    }

    /// Begins the stack with the first row, which is at hand.
    ///
    /// # Errors
    /// It is not the first, and differs from that; or there can be none.
    #[track_caller]
    #[cold]
    fn begin_rows(&mut self, dtype: DType, numel: usize) -> Result<()> {
        let shape = Shape::from(&self.sizes[..]);
        if let StackState::Filling { .. } = self.stack {
            let first = (&self.first.sizes[..], self.first.dtype);
            expect_same(first, (&self.sizes, dtype))?;
        }
        if shape.checked_numel() != Some(numel) {
            return Err(Error::WrongNumel { op: OP, numel, shape });
        }
        if !matches!(self.stack, StackState::Empty) || self.rows == 0 {
            return Err(self.unfit());
        }
        let target = self.target(&shape, dtype)?;
        self.first.sizes.clone_from(&self.sizes);
        (self.first.numel, self.first.dtype) = (numel, dtype);
        self.stack = StackState::Filling { target, filled: 0 };
        Ok(())
    }

    fn unfit(&self) -> Error {
        Error::InvalidArgument {
            op: OP,
            argument: "row",
            value: format!("a row of the shape {:?}", self.sizes),
            why: "there are as many rows as were announced, or those before are no data",
        }
    }

    /// A tensor for rows of a shape: one that was handed out before, or a new one.
    #[track_caller]
    fn target(&mut self, row: &[usize], dtype: DType) -> Result<ExclusiveTensor> {
        for place in &mut self.kept {
            let fits = |tensor: &Tensor| {
                tensor.dtype() == dtype && tensor.shape().split_first() == Some((&self.rows, row))
            };
            if place.as_ref().is_some_and(fits)
                && let Some(again) = ExclusiveTensor::reclaim(place)?
            {
                return Ok(again);
            }
        }
        let shape: Shape = std::iter::once(self.rows).chain(row.iter().copied()).collect();
        ExclusiveTensor::new(shape, dtype, self.pin_memory)
    }

    /// The stack of all rows since [`begin`](StackBuffer::begin).
    ///
    /// # Errors
    /// There are fewer rows than were announced, or none.
    #[track_caller]
    pub fn finish(&mut self) -> Result<Tensor> {
        match std::mem::replace(&mut self.stack, StackState::Empty) {
            StackState::Filling { target, filled } if filled == self.rows => {
                let tensor = target.into_tensor();
                self.keep(tensor.clone());
                Ok(tensor)
            }
            StackState::Rows(rows) if rows.len() == self.rows => Tensor::stack(rows, 0),
            _ => Err(Error::InvalidArgument {
                op: OP,
                argument: "rows",
                value: format!("{} rows announced", self.rows),
                why: "there must be as many, and at least one",
            }),
        }
    }

    /// Keeps a tensor to fill it anew later.
    fn keep(&mut self, tensor: Tensor) {
        if let Some(free) = self.kept.iter_mut().find(|place| place.is_none()) {
            *free = Some(tensor);
            return;
        }
        if self.kept.len() == MAX_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Some(tensor));
    }
}

/// # Errors
/// The rows differ in shape or dtype.
fn expect_same(
    (first, first_dtype): (&[usize], DType),
    (next, next_dtype): (&[usize], DType),
) -> Result<()> {
    if first != next {
        let shapes = vec![("the first", first.into()), ("the next", next.into())];
        return Err(Error::ShapeMismatch { op: OP, shapes, rule: "all rows have the same" });
    }
    if first_dtype != next_dtype {
        let arguments = vec![("the first", first_dtype), ("the next", next_dtype)];
        return Err(Error::DTypeMismatch { op: OP, arguments, rule: "all rows have the same" });
    }
    Ok(())
}

impl fmt::Debug for StackBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StackBuffer { pin_memory, rows, kept, .. } = self;
        write!(f, "StackBuffer({rows} rows, pin_memory: {pin_memory}, {} kept)", kept.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor;

    fn stacked(buffer: &mut StackBuffer, rows: &[Tensor]) -> Result<Tensor> {
        buffer.begin(rows.len());
        rows.iter().try_for_each(|row| buffer.push(row))?;
        buffer.finish()
    }

    #[test]
    fn memory_is_filled_anew_once_nobody_has_it_and_no_sooner() -> Result<()> {
        let mut buffer = StackBuffer::new(false);
        let rows = |value: f32| Ok::<_, Error>([tensor![value, 1.0]?, tensor![value, 2.0]?]);
        let first = stacked(&mut buffer, &rows(1.0)?)?;
        let memory = first.storage().id();
        let (view, guard) = (first.select(0, 0)?, first.read::<f32>()?);
        drop(first);
        let second = stacked(&mut buffer, &rows(2.0)?)?;
        assert_ne!(second.storage().id(), memory, "a view has it");
        drop(view);
        let third = stacked(&mut buffer, &rows(3.0)?)?;
        assert_ne!(third.storage().id(), memory, "a guard reads it");
        assert_eq!(guard[..], [1.0, 1.0, 1.0, 2.0]);
        drop(guard);
        let fourth = stacked(&mut buffer, &rows(4.0)?)?;
        assert_eq!(fourth.storage().id(), memory);
        assert_eq!(second.to_vec::<f32>()?, [2.0, 1.0, 2.0, 2.0]);
        Ok(())
    }

    #[test]
    fn a_tensor_that_is_handed_out_again_has_no_history() -> Result<()> {
        let mut buffer = StackBuffer::new(false);
        let rows = [tensor![1.0, 2.0]?];
        for _ in 0..3 {
            let stack = stacked(&mut buffer, &rows)?;
            assert!(!stack.requires_grad() && stack.grad().is_none());
            stack.requires_grad_(true)?.sum(())?.backward()?;
        }
        Ok(())
    }

    #[test]
    fn memory_of_inference_mode_is_not_handed_out_elsewhere() -> Result<()> {
        let mut buffer = StackBuffer::new(false);
        let rows = [tensor![1.0, 2.0]?];
        let memory =
            crate::inference_mode(|| Ok::<_, Error>(stacked(&mut buffer, &rows)?.storage().id()))?;
        assert_ne!(stacked(&mut buffer, &rows)?.storage().id(), memory);
        Ok(())
    }

    #[test]
    fn rows_that_do_not_fit_are_errors_and_unwritten_memory_is_never_handed_out() -> Result<()> {
        let mut buffer = StackBuffer::new(false);
        buffer.begin(2);
        assert!(buffer.finish().is_err(), "no rows");
        buffer.begin(2);
        buffer.push(&tensor![1.0, 2.0]?)?;
        for wrong in [tensor![1.0]?, tensor![1, 2]?, tensor![[1.0, 2.0]]?] {
            assert!(buffer.push(&wrong).is_err(), "{wrong}");
        }
        assert!(buffer.finish().is_err(), "one row of two");
        buffer.begin(2);
        for row in [vec![vec![1.0f32, 2.0], vec![3.0]], vec![vec![1.0f32], vec![2.0, 3.0]]] {
            assert!(buffer.push_data(&row).is_err(), "ragged");
        }
        buffer.begin(1);
        buffer.push_data(&7i32)?;
        assert!(buffer.push_data(&8i32).is_err(), "one too many");
        let one = buffer.finish()?;
        assert_eq!((one.shape(), one.to_vec::<i64>()?), (&[1][..], vec![7]));
        Ok(())
    }

    #[test]
    fn a_row_that_is_handed_out_to_be_written_is_initialised() -> Result<()> {
        let mut buffer = StackBuffer::new(false);
        // The second stack may lie in the memory of the first one, which was never finished.
        for is_finished in [false, true, true] {
            buffer.begin(2);
            buffer.push_data(&[1.0f32, 2.0])?;
            if is_finished {
                let row = buffer.push_empty::<f32>(&[2])?;
                assert!(row.iter().all(|element| [0.0, 3.0].contains(element)), "{row:?}");
                row.fill(3.0);
                assert!(buffer.push_empty::<f32>(&[2]).is_err(), "one too many");
                assert_eq!(buffer.finish()?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 3.0]);
            }
        }
        buffer.begin(2);
        assert!(buffer.push_empty::<bool>(&[usize::MAX, 2]).is_err());
        assert_eq!(buffer.push_empty::<bool>(&[0])?, [false; 0]);
        assert!(buffer.push_empty::<u8>(&[0]).is_err() && buffer.push_empty::<bool>(&[1]).is_err());
        Ok(())
    }

    #[test]
    fn all_kinds_of_rows_are_stacked() -> Result<()> {
        let mut buffer = StackBuffer::new(false);
        let matrix = tensor![[1.0, 2.0], [3.0, 4.0]]?;
        let stack = stacked(&mut buffer, &[matrix.t()?, matrix.clone()])?;
        assert_eq!(stack.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
        let leaf = tensor![1.0]?.requires_grad_(true)?;
        let stack = stacked(&mut buffer, &[leaf.clone(), tensor![2.0]?])?;
        stack.sum(())?.backward()?;
        assert!(leaf.grad().is_some(), "gradients flow through the stack");
        buffer.begin(2);
        buffer.push_data(&[[1u8, 2], [3, 4]])?;
        buffer.push_data(&[[5u8, 6], [7, 8]])?;
        let stack = buffer.finish()?;
        assert_eq!((stack.shape(), stack.to_vec::<u8>()?), (&[2, 2, 2][..], (1..=8).collect()));
        Ok(())
    }
}
