//! Views against a plain model: a list of elements with sizes.

use proptest::prelude::*;
use tensor::{Error, Result, Tensor, tensor};

use crate::devices::for_each_device;

#[test]
fn what_is_written_through_a_view_is_seen_by_all() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::zeros([2, 3], device)?;
        x.t()?.select(0, 1)?.fill_(7.0)?;
        x.view([6])?.narrow(0, 5, 1)?.fill_(9.0)?;
        assert_eq!(x.to_vec::<f32>()?, [0.0, 7.0, 0.0, 0.0, 7.0, 9.0]);
        assert!(x.t()?.shares_memory_with(&x));
        Ok(())
    })
}

#[test]
fn a_handle_becomes_a_view_in_place_and_its_clones_do_not() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::arange(6.0, device)?.reshape([2, 3])?;
        let mut seen = x.clone();
        assert_eq!(seen.t_()?.shape(), [3, 2]);
        assert_eq!(seen.unsqueeze_(0)?.shape(), [1, 3, 2]);
        assert_eq!(seen.transpose_(0, 2)?.shape(), [2, 3, 1]);
        assert_eq!(seen.squeeze_(-1)?.shape(), [2, 3]);
        seen.select(0, 0)?.fill_(9.0)?;
        assert_eq!(x.to_vec::<f32>()?, [9.0, 9.0, 9.0, 3.0, 4.0, 5.0]);
        assert_eq!(seen.as_strided_([1, 2, 1], &[0, 1, 0], 3)?.to_vec::<f32>()?, [3.0, 4.0]);
        assert_eq!(seen.clone().squeeze_dims_([0, 2])?.shape(), [2]);
        assert_eq!(seen.squeeze_all_()?.shape(), [2]);
        let mut leaf = Tensor::zeros([2], device)?.requires_grad_(true)?;
        assert!(leaf.unsqueeze_(0).is_err(), "a leaf that requires gradients");
        let mut result = leaf.mul(2.0)?;
        result.unsqueeze_(0)?.sum(())?.backward()?;
        assert_eq!(leaf.grad().expect("it has one").to_vec::<f32>()?, [2.0, 2.0]);
        Ok(())
    })
}

#[test]
fn a_view_that_would_need_a_copy_is_refused_and_reshape_makes_it() -> Result<()> {
    let x = tensor![[1, 2, 3], [4, 5, 6]]?.t()?;
    let error = x.view([6]).expect_err("the rows do not follow each other");
    assert!(matches!(error, Error::NotContiguous { op: "view", .. }), "{error:?}");
    assert!(error.to_string().contains("reshape"), "{error}");
    assert_eq!(x.reshape([6])?.to_vec::<i64>()?, [1, 4, 2, 5, 3, 6]);
    assert_eq!(x.reshape([-1, 2])?.shape(), [3, 2]);
    assert!(x.view([3, 1, 2]).is_ok(), "a size of 1 fits anywhere");
    Ok(())
}

#[test]
fn sizes_that_do_not_multiply_to_the_elements_are_refused() -> Result<()> {
    let x = tensor![1, 2, 3, 4]?;
    assert!(matches!(x.view([3]), Err(Error::WrongNumel { op: "view", numel: 4, .. })));
    assert!(x.reshape([3, -1]).is_err());
    assert!(x.view([-1, -1]).is_err());
    Ok(())
}

#[test]
fn slices_follow_pythons_rules() -> Result<()> {
    let x = Tensor::arange(10, ())?;
    assert_eq!(x.slice(0, 2, 8, 3)?.to_vec::<i64>()?, [2, 5]);
    assert_eq!(x.slice(0, -3, 100, 1)?.to_vec::<i64>()?, [7, 8, 9]);
    assert_eq!(x.slice(0, 8, 2, 1)?.shape(), [0]);
    assert_eq!(x.slice(0, 0, -8, 1)?.to_vec::<i64>()?, [0, 1]);
    assert!(x.slice(0, 0, 1, 0).is_err());
    Ok(())
}

#[test]
fn dimensions_count_from_the_end_too_and_must_exist() -> Result<()> {
    let x = Tensor::arange(24, ())?.reshape([2, 3, 4])?;
    assert_eq!(x.select(-1, -1)?.to_vec::<i64>()?, [3, 7, 11, 15, 19, 23]);
    assert_eq!(x.transpose(0, -1)?.shape(), [4, 3, 2]);
    assert_eq!(x.unsqueeze(-1)?.shape(), [2, 3, 4, 1]);
    assert_eq!(x.size(-2)?, 3);
    assert_eq!(x.flatten_dims(1, -1)?.shape(), [2, 12]);
    for failed in [x.select(3, 0), x.narrow(-4, 0, 1), x.unsqueeze(4), x.permute((0, 1, 3))] {
        assert!(matches!(failed, Err(Error::DimOutOfRange { dims: 3 | 4, .. })), "{failed:?}");
    }
    let outside = [x.select(1, 3), x.select(1, -4), x.narrow(1, 2, 2)];
    for failed in outside {
        assert!(matches!(failed, Err(Error::IndexOutOfRange { size: 3, .. })), "{failed:?}");
    }
    assert!(x.permute((0, 1, 1)).is_err());
    assert!(x.t().is_err());
    Ok(())
}

#[test]
fn parts_together_are_the_whole() -> Result<()> {
    let x = Tensor::arange(7, ())?;
    let sizes = |parts: Vec<Tensor>| parts.iter().map(Tensor::numel).collect::<Vec<_>>();
    assert_eq!(sizes(x.split(3, 0)?), [3, 3, 1]);
    assert_eq!(sizes(x.chunk(4, 0)?), [2, 2, 2, 1]);
    assert_eq!(sizes(x.chunk(5, 0)?), [2, 2, 2, 1], "chunks are equal, so there may be fewer");
    let parts = x.chunk(3, 0)?;
    let together = Tensor::cat(&parts, 0)?;
    assert_eq!(together.to_vec::<i64>()?, x.to_vec::<i64>()?);
    Ok(())
}

#[test]
fn repeated_elements_are_read_and_not_written() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::new([1.0f32, 2.0], device)?.expand([3, 2])?;
        assert_eq!(x.add(1.0)?.to_vec::<f32>()?, [2.0, 3.0, 2.0, 3.0, 2.0, 3.0]);
        assert!(matches!(x.add_(1.0), Err(Error::InvalidArgument { .. })));
        // All elements get the same number, so it does not matter that some are one.
        assert_eq!(x.fill_(3.0)?.to_vec::<f32>()?, [3.0; 6]);
        assert_eq!(x.narrow(0, 1, 2)?.zero_()?.numel(), 4);
        assert_eq!(x.to_vec::<f32>()?, [0.0; 6]);
        assert_eq!(x.expand([-1, 3, -1]).err().map(|_| ()), Some(()));
        assert_eq!(x.expand([4, -1, -1])?.shape(), [4, 3, 2]);
        Ok(())
    })
}

#[test]
fn more_dimensions_than_kernels_take_are_taken_apart() -> Result<()> {
    for_each_device(|device| {
        // Alternating strides, so that no two dimensions merge.
        let sizes = [2usize; 10];
        let x = Tensor::arange(1024, device)?.view(sizes)?;
        let reversed: Vec<isize> = (0..10).rev().collect();
        let y = x.permute(&reversed)?.add(&x)?;
        let expected: Vec<i64> =
            (0..1024u32).map(|i| i64::from(i) + i64::from(i.reverse_bits() >> 22)).collect();
        assert_eq!(y.to_vec::<i64>()?, expected);
        Ok(())
    })
}

/// A tensor as a list: the model that views are compared with.
#[derive(Clone, Debug)]
struct Model {
    shape: Vec<usize>,
    elements: Vec<i64>,
}

impl Model {
    /// The elements whose index along each dimension is what `source` says of the new index.
    fn gather(&self, shape: Vec<usize>, source: impl Fn(&[usize]) -> Vec<usize>) -> Model {
        let count: usize = shape.iter().product();
        let elements = (0..count).map(|linear| {
            let mut rest = linear;
            let mut index = vec![0; shape.len()];
            for (dim, &size) in shape.iter().enumerate().rev() {
                index[dim] = rest % size;
                rest /= size;
            }
            let at = source(&index).iter().zip(&self.shape).fold(0, |at, (i, size)| at * size + i);
            self.elements[at]
        });
        Model { elements: elements.collect(), shape }
    }
}

/// One step of a chain of views; the numbers are brought into range where it is applied.
#[derive(Clone, Copy, Debug)]
enum Step {
    Transpose(usize, usize),
    Slice(usize, usize, usize, usize),
    Select(usize, usize),
    Unsqueeze(usize),
    Expand(usize),
}

fn apply(step: Step, x: &Tensor, model: &Model) -> Result<(Tensor, Model)> {
    let dims = model.shape.len();
    Ok(match step {
        Step::Transpose(a, b) if dims > 0 => {
            let (a, b) = (a % dims, b % dims);
            let mut shape = model.shape.clone();
            shape.swap(a, b);
            let swapped = model.gather(shape, |index| {
                let mut index = index.to_vec();
                index.swap(a, b);
                index
            });
            (x.transpose(a as isize, b as isize)?, swapped)
        }
        Step::Slice(dim, start, len, step) if dims > 0 => {
            let dim = dim % dims;
            let size = model.shape[dim];
            let start = start.min(size);
            let end = (start + len).min(size);
            let mut shape = model.shape.clone();
            shape[dim] = (end - start).div_ceil(step);
            let sliced = model.gather(shape, |index| {
                let mut index = index.to_vec();
                index[dim] = start + index[dim] * step;
                index
            });
            (x.slice(dim as isize, start as isize, end as isize, step)?, sliced)
        }
        Step::Select(dim, at) if dims > 0 && model.shape[dim % dims] > 0 => {
            let dim = dim % dims;
            let at = at % model.shape[dim];
            let mut shape = model.shape.clone();
            shape.remove(dim);
            let selected = model.gather(shape, |index| {
                let mut index = index.to_vec();
                index.insert(dim, at);
                index
            });
            (x.select(dim as isize, at as isize)?, selected)
        }
        Step::Unsqueeze(dim) => {
            let dim = dim % (dims + 1);
            let mut shape = model.shape.clone();
            shape.insert(dim, 1);
            let grown = Model { shape, elements: model.elements.clone() };
            (x.unsqueeze(dim as isize)?, grown)
        }
        Step::Expand(count) => {
            let mut shape = vec![count];
            shape.extend(&model.shape);
            let repeated = model.gather(shape.clone(), |index| index[1..].to_vec());
            (x.expand(shape)?, repeated)
        }
        _ => (x.clone(), model.clone()),
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = 0usize..4;
    let step = prop_oneof![
        (n.clone(), n.clone()).prop_map(|(a, b)| Step::Transpose(a, b)),
        (n.clone(), n.clone(), n.clone(), 1usize..3)
            .prop_map(|(dim, start, len, step)| Step::Slice(dim, start, len, step)),
        (n.clone(), n.clone()).prop_map(|(dim, at)| Step::Select(dim, at)),
        n.clone().prop_map(Step::Unsqueeze),
        (1usize..3).prop_map(Step::Expand),
    ];
    prop::collection::vec(step, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn chains_of_views_show_the_elements_of_the_model(steps in steps()) {
        let shape = vec![3, 2, 4];
        let model = Model { shape: shape.clone(), elements: (0..24).collect() };
        for_each_device(|device| {
            let (mut x, mut model) = (Tensor::arange(24, device)?.view(shape.clone())?, model.clone());
            for &step in &steps {
                (x, model) = apply(step, &x, &model)?;
            }
            assert_eq!(x.shape(), model.shape);
            assert_eq!(x.to_vec::<i64>()?, model.elements);
            let doubled = x.add(&x)?;
            assert_eq!(doubled.storage().nbytes(), 8 * doubled.numel(), "it is dense");
            assert_eq!(doubled.to_vec::<i64>()?, model.elements.iter().map(|e| 2 * e).collect::<Vec<_>>());
            Ok(())
        }).expect("views");
    }
}

#[test]
fn results_lie_in_memory_in_the_order_of_their_operands() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::arange(24.0, device)?.reshape([2, 3, 4])?.permute((2, 0, 1))?;
        let ones = |shape: &[usize]| Tensor::ones(shape, device);
        let mask = x.gt(3.0)?;
        let column = Tensor::arange(12.0, device)?.reshape([3, 4])?.t()?.unsqueeze(1)?;
        // The strides that PyTorch gives them.
        let cases = [
            (x.add(1)?, [1, 12, 4]),
            (mask.clone(), [1, 12, 4]),
            (x.mul(&ones(&[3])?)?, [1, 12, 4]),
            (ones(&[2, 3])?.mul(&x)?, [1, 12, 4]),
            (x.slice(0, 0, 4, 2)?.add(1)?, [1, 6, 2]),
            (x.clone_data()?, [1, 12, 4]),
            (Tensor::where_cond(&mask, &x, 0.0)?, [1, 12, 4]),
            (column.add(&ones(&[4, 5, 3])?)?, [15, 3, 1]),
            (column.expand([4, 5, 3])?.mul(1)?, [1, 4, 20]),
            (x.contiguous()?, [6, 3, 1]),
            (x.masked_fill(&mask, 0.0)?, [6, 3, 1]),
            (x.softmax(0)?, [6, 3, 1]),
        ];
        for (number, (result, strides)) in cases.iter().enumerate() {
            assert_eq!(result.strides(), strides, "case {number} on {device}");
        }
        let expected = x.contiguous()?.add(1)?.to_vec::<f32>()?;
        assert_eq!(x.add(1)?.to_vec::<f32>()?, expected);
        Ok(())
    })
}
