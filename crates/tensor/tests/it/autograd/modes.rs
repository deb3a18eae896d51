//! Modes of a thread: recording, inference, and the search for anomalies.

use tensor::{
    AutogradError, DetectAnomalyGuard, Error, GradGuard, Result, SplitPoints, Tensor,
    inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, tensor,
};

use crate::devices::for_each_device;

#[test]
fn a_guard_sets_grad_mode_by_a_value() -> Result<()> {
    let x = tensor![1.0]?.requires_grad_(true)?;
    for training in [true, false] {
        let _mode = GradGuard::new(training);
        assert_eq!((is_grad_enabled(), x.mul(2.0)?.requires_grad()), (training, training));
    }
    assert!(is_grad_enabled());
    Ok(())
}

#[test]
fn tensors_of_inference_mode_have_no_part_in_graphs() -> Result<()> {
    for_each_device(|device| {
        let weight = tensor![2.0]?.to(device)?.requires_grad_(true)?;
        let made = inference_mode(|| {
            assert!(is_inference_mode_enabled() && !is_grad_enabled());
            let made = weight.mul(3.0)?;
            made.add_(1.0)?;
            assert!(!weight.view([1])?.is_inference(), "memory from outside stays as it is");
            Ok::<Tensor, Error>(made)
        })?;
        assert!(made.is_inference() && !made.requires_grad() && !is_inference_mode_enabled());
        let refused = |error: Error| {
            assert!(
                matches!(error, Error::Autograd(AutogradError::InferenceTensor { .. })),
                "{error:?}"
            );
        };
        refused(made.add_(1.0).expect_err("its changes are not counted"));
        refused(made.requires_grad_(true).expect_err("it has no history"));
        // It can be used where it need not be saved.
        made.add(&weight)?.sum(())?.backward()?;
        let error = made.mul(&weight)?.sum(())?.backward().expect_err("it was saved");
        assert!(error.to_string().contains("inference mode"), "{error}");
        made.clone_data()?.mul(&weight)?.sum(())?.backward()?;
        assert_eq!(weight.grad().expect("it has one").to_vec::<f32>()?, [8.0]);
        Ok(())
    })
}

#[test]
fn anomaly_mode_names_the_forward_call_that_gives_nan() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![0.0, 1.0]?.to(device)?.requires_grad_(true)?;
        let line = line!() + 1;
        let y = x.sqrt()?;
        let z = y.mul(0.0)?.sum(())?;
        let _guard = DetectAnomalyGuard::new();
        let error = z.backward().expect_err("0 / 0");
        let Error::Autograd(AutogradError::NotANumber { op: "sqrt", place, .. }) = &error else {
            panic!("{error:?}")
        };
        assert!(place.file().ends_with("modes.rs") && place.line() == line, "{place}");
        x.exp()?.sum(())?.backward()
    })
}

#[test]
fn a_view_is_named_by_the_call_that_made_it() -> Result<()> {
    fn whole() -> Result<Tensor> {
        Tensor::ones([2, 3, 4], ())?.requires_grad_(true)
    }
    let one: [fn(&Tensor) -> Result<Tensor>; 23] = [
        |x| x.view((4, 3, 2)),
        |x| x.view_as(&Tensor::zeros([24], ())?),
        |x| x.reshape((6, 4)),
        |x| x.flatten(),
        |x| x.unflatten(0, (1, 2)),
        |x| x.transpose(0, 1),
        |x| x.permute((2, 0, 1)),
        |x| x.movedim(0, 1),
        |x| x.narrow(0, 1, 1),
        |x| x.slice(2, 0, 4, 2),
        |x| x.select(1, 0),
        |x| x.select(1, 0)?.t(),
        |x| x.mt(),
        |x| x.select(1, 0)?.numpy_t(),
        |x| x.unsqueeze(1),
        |x| x.unsqueeze(1)?.squeeze(1),
        |x| x.unsqueeze(1)?.squeeze_all(),
        |x| x.expand((5, 2, 3, 4)),
        |x| x.broadcast_to((5, 2, 3, 4)),
        |x| x.diagonal(0, 0, 1),
        |x| x.as_strided([2, 3], &[3, 1], 0),
        |x| x.unfold(2, 2, 1),
        |x| x.i((0, .., 1)),
    ];
    for make in one {
        names_its_call(&make(&whole()?)?)?;
    }
    type MakeViews = fn(&Tensor) -> Result<Vec<Tensor>>;
    let several: [MakeViews; 7] = [
        |x| x.split(1, 0),
        |x| x.chunk(2, 0),
        |x| x.unbind(0),
        |x| x.split_with_sizes(&[1, 2], 1),
        |x| x.tensor_split(SplitPoints::Indices(&[1]), 1),
        |x| x.hsplit(SplitPoints::Sections(3)),
        |x| Tensor::broadcast_tensors([x, &Tensor::zeros([5, 1, 1, 1], ())?]),
    ];
    for make in several {
        names_its_call(&make(&whole()?)?[0])?;
    }
    Ok(())
}

/// Checks that an error of a tensor's backward function names a call in this file.
fn names_its_call(made: &Tensor) -> Result<()> {
    let _hook = made.register_hook(|grad| Ok(Some(grad.mul(f64::NAN)?)))?;
    let _guard = DetectAnomalyGuard::new();
    let error = made.sum(())?.backward().expect_err("its gradient is NaN");
    let Error::Autograd(AutogradError::NotANumber { op, place, .. }) = &error else {
        panic!("{error:?}")
    };
    assert!(place.file().ends_with("modes.rs"), "{op}: {place}");
    Ok(())
}

#[test]
fn an_error_of_the_backward_pass_names_the_forward_call() -> Result<()> {
    let (x, factor) = (tensor![2.0]?.requires_grad_(true)?, tensor![3.0]?);
    let line = line!() + 1;
    let y = x.mul(&factor)?;
    factor.fill_(1.0)?;
    let error = y.backward().expect_err("the factor was changed").to_string();
    assert!(error.contains("`mul`") && error.contains(&format!("modes.rs:{line}:")), "{error}");
    Ok(())
}

#[test]
fn what_gives_its_operand_back_does_so_without_recording_too() -> Result<()> {
    let x = tensor![1.0, 2.0]?.requires_grad_(true)?;
    let y = x.mul(3.0)?;
    let same = no_grad(|| Ok::<_, tensor::Error>([y.flatten()?, y.positive()?, y.contiguous()?]))?;
    for same in same {
        assert_eq!((same.requires_grad(), same.grad_fn()), (true, Some("mul")));
    }
    assert_eq!(no_grad(|| y.view([2, 1])?.flatten())?.grad_fn(), None, "a view");
    Ok(())
}
