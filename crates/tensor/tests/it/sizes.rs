//! Sizes beyond counting and beyond memory: each is an error or a right answer, at once.

use tensor::{DType, Device, Error, ReduceDims, Result, Tensor, keepdim, tensor};

use crate::devices::for_each_kind;

/// The most elements that a dimension can have.
const MOST: usize = isize::MAX as usize;

/// `size` times the same number, in the memory of one.
fn repeated(value: f64, size: usize, to: (DType, Device)) -> Result<Tensor> {
    Tensor::full([1], value, to)?.expand([size])
}

fn is_too_large<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::TooLarge { .. }))
}

#[test]
fn tensors_that_are_too_long_together_are_not_joined() -> Result<()> {
    for_each_kind(|device| {
        let long = repeated(1.0, MOST, (DType::F32, device))?;
        let short = Tensor::ones([10], device)?;
        assert!(is_too_large(&Tensor::cat([&long, &long, &short], 0)));
        assert!(is_too_large(&Tensor::stack([&long, &long, &long], 0)));
        assert!(is_too_large(&Tensor::stack([&long, &long, &long], 1)));
        Ok(())
    })
}

#[test]
fn a_shape_whose_sizes_cannot_be_multiplied_is_refused_also_where_one_is_zero() -> Result<()> {
    for_each_kind(|device| {
        for shape in [[usize::MAX, 2, 0], [0, usize::MAX, 1], [1 << 40, 0, 1 << 40]] {
            assert!(is_too_large(&Tensor::zeros(shape, device)), "{shape:?}");
        }
        let empty = Tensor::zeros([0], device)?;
        assert!(is_too_large(&empty.view([0usize, 1 << 40, 1 << 40])));
        assert!(is_too_large(&empty.reshape([1usize << 40, 0, 1 << 40])));
        assert!(is_too_large(&Tensor::zeros([0, 1], device)?.expand([0, usize::MAX])));
        Ok(())
    })
}

#[test]
fn a_tensor_without_elements_may_be_viewed_in_every_way_whatever_its_other_sizes() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::zeros([1 << 40, 0, 4], device)?;
        let views = [
            x.select(0, 1 << 39)?,
            x.narrow(0, 1 << 39, 7)?,
            x.slice(0, 5, isize::MAX, 1 << 50)?,
            x.slice(0, isize::MIN, isize::MAX, 3)?,
            x.transpose(0, 2)?,
            x.unsqueeze(0)?.squeeze(0)?,
            x.select(2, -1)?.unsqueeze(-1)?,
            x.view([0, 1 << 20])?,
            x.flatten()?,
            x.permute((2, 0, 1))?.slice(1, 1, -1, 1 << 39)?,
        ];
        for view in views {
            assert_eq!((view.numel(), view.to_vec::<f32>()?), (0, vec![]), "{:?}", view.shape());
            assert_eq!((&view + 1.0)?.shape(), view.shape());
            assert_eq!(view.sum(())?.item::<f32>()?, 0.0);
            view.fill_(1)?;
            assert!(view.to_string().starts_with("tensor([]"));
        }
        let more = Tensor::zeros([1 << 60, 0, 4], device)?;
        assert!(is_too_large(&more.sum(1)), "these are zeros, and too many");
        Ok(())
    })
}

#[test]
fn a_number_that_is_repeated_beyond_counting_bytes_is_filled_and_nothing_is_copied_to_it()
-> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::zeros([1], (DType::F64, device))?;
        let repeated = x.expand([MOST])?;
        repeated.fill_(2)?;
        assert!(repeated.copy_(&Tensor::zeros((), (DType::F64, device))?).is_err());
        assert!(x.copy_(&repeated).is_err());
        assert_eq!(x.item::<f64>()?, 2.0);
        Ok(())
    })
}

#[test]
fn windows_of_no_elements_stand_before_each_element_and_behind_the_last() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::ones([3, 2], device)?;
        assert_eq!(x.unfold(0, 0, 1)?.shape(), [4, 2, 0]);
        assert_eq!(x.unfold(0, 0, 2)?.shape(), [2, 2, 0]);
        assert_eq!(x.t()?.unfold(1, 0, 1)?.shape(), [2, 4, 0]);
        Ok(())
    })
}

#[test]
fn a_step_beyond_the_end_of_a_dimension_takes_its_first_element() -> Result<()> {
    for_each_kind(|device| {
        let x = Tensor::arange(0..100, device)?.reshape([10, 10])?;
        for step in [10, 11, 1 << 40, MOST, usize::MAX] {
            assert_eq!(x.slice(0, 0, 10, step)?.to_vec::<i64>()?, (0..10).collect::<Vec<_>>());
            assert_eq!(x.slice(1, 3, 10, step)?.shape(), [10, 1]);
        }
        assert_eq!(x.slice(0, isize::MIN, isize::MAX, 9)?.select(0, 1)?.to_vec::<i64>()?[0], 90);
        Ok(())
    })
}

#[test]
fn an_unsigned_size_is_never_an_open_one() -> Result<()> {
    let x = tensor![1.0, 2.0, 3.0]?;
    assert!(x.view([usize::MAX]).is_err());
    assert!(x.reshape(&[usize::MAX][..]).is_err());
    assert!(x.expand([usize::MAX]).is_err());
    assert!(x.expand(vec![usize::MAX, 3]).is_err());
    assert!(x.view(tensor::Shape::from([usize::MAX])).is_err());
    assert_eq!(x.view([-1])?.shape(), [3]);
    Ok(())
}

#[test]
fn reductions_of_what_has_no_memory_of_its_own_take_no_time() -> Result<()> {
    const MANY: usize = 1 << 62;
    for_each_kind(|device| {
        let float = |value| repeated(value, MANY, (DType::F32, device));
        let int = |value| repeated(value, MANY, (DType::I64, device));
        assert_eq!(float(0.5)?.sum(())?.item::<f32>()?, (1u64 << 61) as f32);
        assert_eq!(float(-3.0)?.mean(())?.item::<f32>()?, -3.0);
        assert_eq!(float(7.0)?.max()?.item::<f32>()?, 7.0);
        assert_eq!(float(7.0)?.min()?.item::<f32>()?, 7.0);
        assert_eq!(float(1.0)?.prod(())?.item::<f32>()?, 1.0);
        assert_eq!(float(0.5)?.prod(())?.item::<f32>()?, 0.0);
        assert_eq!(float(-2.0)?.prod(())?.item::<f32>()?, f32::INFINITY);
        assert_eq!(repeated(-1.0, MANY - 1, (DType::F32, device))?.prod(())?.item::<f32>()?, -1.0);
        assert_eq!(int(3.0)?.sum(())?.item::<i64>()?, -(1 << 62), "3 * 2^62 wraps");
        assert_eq!(int(-1.0)?.prod(())?.item::<i64>()?, 1);
        assert!(int(5.0)?.any(())?.item::<bool>()? && int(5.0)?.all(())?.item::<bool>()?);
        assert!(!int(0.0)?.any(())?.item::<bool>()?);
        assert_eq!(repeated(1.0, MANY, (DType::Bool, device))?.sum(())?.item::<i64>()?, 1 << 62);
        assert_eq!(float(1.0)?.argmax(())?.item::<i64>()?, 0);
        assert_eq!(float(1.0)?.argmin(keepdim(0))?.to_vec::<i64>()?, [0]);
        Ok(())
    })
}

#[test]
fn repeated_dimensions_among_others_are_reduced_as_if_they_had_memory() -> Result<()> {
    for_each_kind(|device| {
        let small = Tensor::new([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], (DType::F64, device))?;
        // The dimensions 0 and 2 are repeated. What it is compared with has memory, of the host.
        let wide = small.unsqueeze(1)?.unsqueeze(0)?.expand([128, 2, 128, 3])?;
        let dense = small.cpu()?.unsqueeze(1)?.unsqueeze(0)?.expand(wide.shape())?.contiguous()?;
        for dims in [&[][..], &[0], &[1], &[2], &[3], &[0, 2], &[1, 2], &[0, 1, 3], &[1, 3]] {
            for keepdim in [false, true] {
                let over = || ReduceDims::from(dims).keepdim(keepdim);
                let same = |a: Tensor, b: Tensor| {
                    assert_eq!(a.shape(), b.shape(), "{dims:?}");
                    assert!(a.is_contiguous() && a.device() == device);
                    assert!(a.cpu()?.allclose(&b, 1e-12, 0.0)?, "{dims:?} {keepdim}");
                    Ok::<_, Error>(())
                };
                same(wide.sum(over())?, dense.sum(over())?)?;
                same(wide.mean(over())?, dense.mean(over())?)?;
                same(wide.amax(over())?, dense.amax(over())?)?;
                same(wide.any(over())?, dense.any(over())?)?;
            }
        }
        for dim in 0..4 {
            let (a, b) = (wide.argmax(dim)?, dense.argmax(dim)?);
            assert_eq!(a.to_vec::<i64>()?, b.to_vec::<i64>()?, "{dim}");
        }
        let flat = |x: &Tensor| x.argmin(())?.item::<i64>();
        assert_eq!(flat(&wide)?, flat(&dense)?);
        let folded = wide.transpose(0, 3)?;
        assert_eq!(flat(&folded)?, flat(&dense.transpose(0, 3)?)?);
        Ok(())
    })
}

#[test]
fn products_over_a_repeated_dimension_take_no_time() -> Result<()> {
    for_each_kind(|device| {
        let (a, b) =
            (Tensor::new([[2.0f32], [3.0]], device)?, Tensor::new([[5.0f32, 7.0]], device)?);
        let (wide, tall) = (a.expand([2, 1usize << 40])?, b.expand([1usize << 40, 2])?);
        let scale = (1u64 << 40) as f32;
        let expected: Vec<f32> = [10.0, 14.0, 15.0, 21.0].map(|x| x * scale).to_vec();
        assert_eq!(wide.matmul(&tall)?.to_vec::<f32>()?, expected);
        let vector = repeated(2.0, 1 << 62, (DType::F32, device))?;
        assert_eq!(
            vector.matmul(&vector)?.item::<f32>()?,
            (1u64 << 32) as f32 * (1u64 << 32) as f32
        );
        assert!(wide.transpose(0, 1)?.matmul(&wide).is_err(), "the result has 2^80 elements");
        Ok(())
    })
}

#[test]
fn results_without_room_in_memory_are_refused_at_once() -> Result<()> {
    for_each_kind(|device| {
        let x = repeated(1.0, 1 << 62, (DType::F32, device))?;
        assert!(is_too_large(&(&x + 1.0)));
        assert!(is_too_large(&x.exp()));
        assert!(is_too_large(&x.contiguous()));
        assert!(is_too_large(&x.to(DType::F64)));
        assert!(is_too_large(&x.to_vec::<f32>()));
        assert!(is_too_large(&x.softmax(0)));
        assert!(is_too_large(&x.var((), 1)));
        assert!(x.eq(&x).is_err(), "a byte for each");
        assert!(is_too_large(&x.unsqueeze(1)?.expand([1usize << 62, 4])));
        assert!(x.fill_(1).is_ok(), "it is one element");
        assert!(x.split(1, 0).is_err(), "so many tensors");
        assert_eq!(x.split(1 << 61, 0)?.len(), 2);
        assert!(x.chunk(usize::MAX, 0).is_err());
        let index = repeated(0.0, 1 << 62, (DType::I64, device))?;
        assert!(Tensor::ones([3], device)?.index_select(0, &index).is_err());
        assert!(Tensor::ones([3], device)?.gather(0, &index).is_err());
        assert!(Tensor::zeros([3], device)?.index_add_(0, &index, &x).is_err());
        assert!(Tensor::zeros([3], device)?.scatter_add_(0, &index, &x).is_err());
        Ok(())
    })
}

#[test]
fn factories_refuse_what_no_memory_can_hold() {
    for count in [usize::MAX, MOST, 1 << 60] {
        assert!(Tensor::linspace(0.0, 1.0, count, ()).is_err());
        assert!(Tensor::randperm(count, ()).is_err());
        assert!(Tensor::eye(count, ()).is_err());
        assert!(Tensor::full([count], 1, ()).is_err());
        assert!(Tensor::rand([count], ()).is_err());
        assert!(Tensor::arange(count as f64, ()).is_err());
        assert!(Tensor::full([2], 1, ()).and_then(|x| x.new_zeros([count], ())).is_err());
    }
    assert!(Tensor::arange((i64::MIN, i64::MAX, 1), ()).is_err());
    assert!(Tensor::arange((0.0, 1.0, f64::MIN_POSITIVE), ()).is_err());
    assert!(Tensor::from_vec(vec![0u8; 4], [usize::MAX, 2, 0], ()).is_err());
}

#[test]
fn a_permutation_that_cannot_be_made_draws_nothing() -> Result<()> {
    tensor::with_manual_seed(3, || {
        let before = tensor::generator(Device::Cpu)?.state();
        assert!(Tensor::randperm(usize::MAX, ()).is_err());
        assert!(Tensor::rand([usize::MAX], ()).is_err());
        assert_eq!(tensor::generator(Device::Cpu)?.state(), before);
        Ok(())
    })
}

#[test]
fn a_tensor_has_at_most_64_dimensions() -> Result<()> {
    for_each_kind(|device| {
        let deep = Tensor::ones([1; 64], device)?;
        assert_eq!((deep.dims(), deep.sum(())?.item::<f32>()?), (64, 1.0));
        assert!(deep.to_string().contains("[[[["));
        for refused in [
            Tensor::ones([1; 65], device),
            deep.unsqueeze(0),
            deep.view([1; 65]),
            deep.reshape([1; 65]),
            deep.expand([2; 65]),
            Tensor::stack([&deep, &deep], 0),
        ] {
            assert!(matches!(refused, Err(Error::TooManyDims { .. })), "{refused:?}");
        }
        Ok(())
    })
}

#[test]
fn a_tensor_is_printed_without_what_cannot_be_shown() -> Result<()> {
    let long = repeated(1.5, 1 << 62, (DType::F32, Device::Cpu))?;
    assert_eq!(long.to_string(), "tensor([1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000])");
    let deep = Tensor::ones([1; 22], ())?.expand([7; 22])?;
    assert!(deep.to_string().starts_with("tensor(<"), "6^22 numbers");
    Ok(())
}

#[test]
fn a_number_of_sections_beyond_all_reason_is_refused() -> Result<()> {
    use tensor::SplitPoints::Sections;
    let x = Tensor::zeros([3], ())?;
    assert_eq!(x.tensor_split(Sections(5), 0)?.len(), 5);
    for count in [1 << 20, usize::MAX] {
        let error = x.tensor_split(Sections(count), 0);
        assert!(matches!(error, Err(Error::InvalidArgument { .. })), "{error:?}");
        let none = Tensor::zeros([0], ())?.hsplit(Sections(count));
        assert!(matches!(none, Err(Error::InvalidArgument { .. })), "{none:?}");
    }
    Ok(())
}
