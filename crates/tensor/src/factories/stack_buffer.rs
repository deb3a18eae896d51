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
    /// The sizes and numbers of a row of Rust data.
    sizes: Vec<usize>,
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
        let (stack, kept, sizes) = (StackState::Empty, VecDeque::new(), Vec::new());
        StackBuffer { pin_memory, rows: 0, stack, kept, sizes }
    }

    /// Begins a stack of so many rows. One that was not finished is forgotten.
    pub fn begin(&mut self, rows: usize) {
        self.rows = rows;
        if let StackState::Filling { target, .. } =
            std::mem::replace(&mut self.stack, StackState::Empty)
        {
            self.keep(target.into_tensor());
        }
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
        self.fill(row.shape(), row.dtype(), |target, start| target.write_tensor(start, &row))
    }

    /// Adds a row of Rust data: a number, or nested arrays and vectors of numbers. Each number is an
    /// element of its own type, an `i32` of `I64`.
    ///
    /// # Errors
    /// As [`push`](StackBuffer::push), or the data is ragged.
    #[track_caller]
    pub fn push_data<D: Data>(&mut self, row: &D) -> Result<()> {
        let mut sizes = std::mem::take(&mut self.sizes);
        sizes.clear();
        D::measure(Some(row), &mut sizes);
        let pushed = self.push_measured(row, &sizes);
        self.sizes = sizes;
        pushed
    }

    #[track_caller]
    fn push_measured<D: Data>(&mut self, row: &D, sizes: &[usize]) -> Result<()> {
        let mut numbers = Vec::new();
        let elements = match D::elements(std::slice::from_ref(row)) {
            Some(elements) => elements,
            None => {
                row.append(OP, sizes, &mut numbers)?;
                &numbers
            }
        };
        let shape = Shape::from(sizes);
        if shape.checked_numel() != Some(elements.len()) {
            return Err(Error::WrongNumel { op: OP, numel: elements.len(), shape });
        }
        let dtype = <<D::Number as Number>::Stored as Element>::DTYPE;
        self.fill(sizes, dtype, |target, start| {
            target.write(start, elements);
            Ok(())
        })
    }

    /// Has `write` fill the next row, which begins with the element that it is told. The row counts
    /// when it is filled: nobody may read elements that were never written.
    #[track_caller]
    fn fill(
        &mut self,
        shape: &[usize],
        dtype: DType,
        write: impl FnOnce(&mut ExclusiveTensor, usize) -> Result<()>,
    ) -> Result<()> {
        if matches!(self.stack, StackState::Empty) && self.rows > 0 {
            self.stack = StackState::Filling { target: self.target(shape, dtype)?, filled: 0 };
        }
        match &mut self.stack {
            StackState::Filling { target, filled } if *filled < self.rows => {
                let first = target.shape().get(1..).unwrap_or_default();
                expect_same((first, target.dtype()), (shape, dtype))?;
                write(target, *filled * shape.iter().product::<usize>())?;
                *filled += 1;
                Ok(())
            }
            _ => Err(Error::InvalidArgument {
                op: OP,
                argument: "row",
                value: format!("a row of the shape {shape:?}"),
                why: "there are as many rows as were announced, or those before are no data",
            }),
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
