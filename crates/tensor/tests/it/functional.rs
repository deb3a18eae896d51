//! Normalisations, losses, distances and tables beyond PyTorch's numbers: what they keep, which dtypes
//! and shapes they take, and what they refuse. The numbers are those of `tests/expected/functional.py`.

use tensor::{
    Backward, BagMode, CdistMode, DType, EmbeddingOptions, Error, Reduction, Result, Tensor,
    saved_bytes, tensor,
};

use crate::devices::for_each_device;
use crate::expected::Case;

type Run = fn(&Case, &[Tensor]) -> Result<Tensor>;

/// The operations of the cases.
pub(crate) const FUNCTIONAL: &[(&str, Run)] = &[
    ("batch_norm", |case, x| {
        x[0].batch_norm(None, x.get(1), x.get(2), true, 0.1, case.float("eps"))
    }),
    ("batch_norm_eval", |case, x| {
        let (mean, variance) = (list(case, "mean", &x[0])?, list(case, "variance", &x[0])?);
        let running = Some((&mean, &variance));
        x[0].batch_norm(running, x.get(1), x.get(2), false, 0.1, case.float("eps"))
    }),
    ("instance_norm", |case, x| {
        x[0].instance_norm(None, x.get(1), x.get(2), true, 0.1, case.float("eps"))
    }),
    ("group_norm", |case, x| {
        let groups = case.int("groups") as usize;
        x[0].group_norm(groups, x.get(1), x.get(2), case.float("eps"))
    }),
    ("rms_norm", |case, x| {
        let shape = &x[0].shape()[x[0].dims() - case.int("dims") as usize..];
        x[0].rms_norm(shape, x.get(1), case.float("eps"))
    }),
    ("mse_loss_with", |case, x| x[0].mse_loss_with(&x[1], reduction(case))),
    ("l1_loss", |case, x| x[0].l1_loss_with(&x[1], reduction(case))),
    ("smooth_l1_loss", |case, x| {
        x[0].smooth_l1_loss_with(&x[1], case.float("beta"), reduction(case))
    }),
    ("huber_loss", |case, x| x[0].huber_loss_with(&x[1], case.float("delta"), reduction(case))),
    ("kl_div", |case, x| x[0].kl_div_with(&x[1], case.flag("log_target"), reduction(case))),
    ("poisson_nll_loss", |case, x| {
        let target = list(case, "target", &x[0])?.reshape(x[0].shape())?;
        let (log_input, full) = (case.flag("log_input"), case.flag("full"));
        x[0].poisson_nll_loss_with(&target, log_input, full, 0.01, reduction(case))
    }),
    ("gaussian_nll_loss", |case, x| {
        x[0].gaussian_nll_loss_with(&x[1], &x[2], true, 1e-6, reduction(case))
    }),
    ("soft_margin_loss", |case, x| x[0].soft_margin_loss_with(&x[1], reduction(case))),
    ("hinge_embedding_loss", |case, x| {
        x[0].hinge_embedding_loss_with(&x[1], case.float("margin"), reduction(case))
    }),
    ("margin_ranking_loss", |case, x| {
        x[0].margin_ranking_loss_with(&x[1], &x[2], case.float("margin"), reduction(case))
    }),
    ("binary_cross_entropy", |case, x| {
        let weight = list(case, "weight", &x[0])?.reshape(x[0].shape())?;
        x[0].binary_cross_entropy_with(&x[1], Some(&weight), reduction(case))
    }),
    ("binary_cross_entropy_with_logits", |case, x| {
        let weight = list(case, "weight", &x[0])?.reshape(x[0].shape())?;
        let positive = list(case, "pos_weight", &x[0])?;
        let (weight, positive) = (Some(&weight), Some(&positive));
        x[0].binary_cross_entropy_with_logits_with(&x[1], weight, positive, reduction(case))
    }),
    ("cross_entropy_with", |case, x| {
        let weight = list(case, "weight", &x[0])?;
        let (ignored, smoothing) = (case.int("ignore_index") as i64, case.float("label_smoothing"));
        x[0].cross_entropy_with(&x[1], Some(&weight), ignored, smoothing, reduction(case))
    }),
    ("nll_loss_with", |case, x| {
        let weight = list(case, "weight", &x[0])?;
        x[0].nll_loss_with(&x[1], Some(&weight), case.int("ignore_index") as i64, reduction(case))
    }),
    ("multilabel_soft_margin_loss", |case, x| {
        let weight = list(case, "weight", &x[0])?;
        x[0].multilabel_soft_margin_loss_with(&x[1], Some(&weight), reduction(case))
    }),
    ("triplet_margin_loss", |case, x| {
        let (margin, p) = (case.float("margin"), case.float("p"));
        x[0].triplet_margin_loss_with(&x[1], &x[2], margin, p, true, reduction(case))
    }),
    ("triplet_margin_with_distance_loss", |case, x| {
        let distance = |a: &Tensor, b: &Tensor| a.sub(b)?.square()?.sum(-1);
        let (margin, reduction) = (case.float("margin"), reduction(case));
        x[0].triplet_margin_with_distance_loss_with(&x[1], &x[2], distance, margin, true, reduction)
    }),
    ("rrelu", |case, x| x[0].rrelu(0.25, case.float("upper"), case.flag("training"))),
    ("cosine_embedding_loss", |case, x| {
        x[0].cosine_embedding_loss_with(&x[1], &x[2], case.float("margin"), reduction(case))
    }),
    ("normalize", |case, x| x[0].normalize(case.float("p"), case.int("dim"), 1e-12)),
    ("pairwise_distance", |case, x| x[0].pairwise_distance(&x[1], case.float("p"), 1e-6, false)),
    ("pdist", |case, x| x[0].pdist(case.float("p"))),
    ("cdist", |case, x| match case.arg("mode").as_str() {
        Some("use_mm_for_euclid_dist") => {
            x[0].cdist_with(&x[1], case.float("p"), CdistMode::Always)
        }
        Some(_) => x[0].cdist_with(&x[1], case.float("p"), CdistMode::Never),
        None => x[0].cdist(&x[1], case.float("p")),
    }),
    ("ctc_loss", |case, x| {
        let (lengths, counts) = (case.ints("lengths"), case.ints("counts"));
        let blank = case.int("blank") as usize;
        let zero_infinity = case.flag("zero_infinity");
        x[0].ctc_loss_with(&x[1], &lengths, &counts, blank, zero_infinity, reduction(case))
    }),
    ("cosine_similarity", |case, x| x[0].cosine_similarity(&x[1], case.int("dim"), 1e-8)),
    ("softmin", |case, x| x[0].softmin(case.int("dim"))),
    ("bilinear", |_, x| x[0].bilinear(&x[1], &x[2], Some(&x[3]))),
    ("embedding", |case, x| {
        let options = EmbeddingOptions::new().padding_idx(case.int("padding_idx"));
        let options = options.scale_grad_by_freq(case.flag("frequency"));
        x[1].embedding_with(&x[0], options)
    }),
    ("embedding_bag", |case, x| {
        let offsets = Tensor::from_vec(case.ints::<i64>("offsets"), [4], x[0].device())?;
        let is_sum = case.arg("mode").as_str() == Some("sum");
        let mode = if is_sum { BagMode::Sum } else { BagMode::Mean };
        let options = EmbeddingOptions::new().padding_idx(1);
        x[1].flatten()?.embedding_bag(&x[0], Some(&offsets), mode, None, options)
    }),
];

fn reduction(case: &Case) -> Reduction {
    let name = case.arg("reduction").as_str().expect("a name");
    name.parse().expect("PyTorch's name")
}

/// A list of numbers among the arguments, as a vector of the dtype of `x` and beside it.
fn list(case: &Case, name: &str, x: &Tensor) -> Result<Tensor> {
    let numbers = case.arg(name).as_array().expect("a list").iter();
    let numbers: Vec<f64> = numbers.map(|number| number.as_f64().expect("a number")).collect();
    let count = numbers.len();
    Tensor::from_vec(numbers, [count], x.device())?.to(x.dtype())
}

#[test]
fn normalisations_keep_their_input_and_two_numbers_for_each_group() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::randn([4, 6, 10], device)?.requires_grad_(true)?;
        let hidden = x.mul(2.0)?;
        let kept = |y: &Tensor| saved_bytes(&[y], &[&x, &hidden]);
        // On CUDA one launch leaves the means beside the sums of squares, which stay with them.
        let numbers = if device.is_cuda() { 3 } else { 2 };
        let y = hidden.batch_norm(None, None, None, true, 0.1, 1e-5)?;
        assert!(kept(&y) <= numbers * 6 * 4, "{}", kept(&y));
        let y = hidden.group_norm(6, None, None, 1e-5)?;
        assert!(kept(&y) <= numbers * 4 * 6 * 4, "{}", kept(&y));
        let y = hidden.rms_norm(&[10], None, 1e-5)?;
        assert!(kept(&y) <= 4 * 6 * 4, "{}", kept(&y));
        Ok(())
    })
}

#[test]
fn running_statistics_move_in_training_and_serve_in_evaluation() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![[1.0, 10.0], [3.0, 30.0]]?.to(device)?;
        let (mean, variance) = (Tensor::zeros([2], device)?, Tensor::ones([2], device)?);
        let running = Some((&mean, &variance));
        x.batch_norm(running, None, None, true, 0.5, 0.0)?;
        assert_eq!(mean.to_vec::<f32>()?, [1.0, 10.0]);
        assert_eq!(variance.to_vec::<f32>()?, [1.5, 100.5], "the variance of a sample");
        let y = x.batch_norm(running, None, None, false, 0.5, 0.0)?;
        let expected = x.sub(&mean)?.div(&variance.sqrt()?)?;
        assert!(y.allclose(&expected, 1e-5, 1e-6)?);
        assert_eq!(mean.to_vec::<f32>()?, [1.0, 10.0], "evaluation changes nothing");
        Ok(())
    })
}

#[test]
fn halves_are_normalised_in_f32_and_may_have_wide_parameters() -> Result<()> {
    for_each_device(|device| {
        let wide = Tensor::randn([3, 4, 50], device)?;
        let weight = Tensor::rand([4], device)?;
        for dtype in [DType::F16, DType::BF16] {
            let half = wide.to(dtype)?.requires_grad_(true)?;
            let y = half.group_norm(2, Some(&weight), None, 1e-5)?;
            assert_eq!(y.dtype(), dtype);
            let exact = half.detach().to(DType::F32)?.group_norm(2, Some(&weight), None, 1e-5)?;
            assert!(y.detach().allclose(&exact.to(dtype)?, 0.01, 0.01)?);
            y.sum(())?.backward()?;
            assert_eq!(half.grad().expect("it was computed").dtype(), dtype);
        }
        Ok(())
    })
}

#[test]
fn operands_of_normalisations_that_do_not_fit_are_errors() -> Result<()> {
    let (x, weight) = (Tensor::ones([2, 6, 3], ())?, Tensor::ones([5], ())?);
    let shape = |result: Result<Tensor>| {
        let error = result.expect_err("another shape");
        assert!(matches!(error, Error::ShapeMismatch { .. }), "{error}");
    };
    shape(x.batch_norm(None, Some(&weight), None, true, 0.1, 1e-5));
    shape(x.group_norm(2, None, Some(&weight), 1e-5));
    shape(x.instance_norm(Some((&weight, &weight)), None, None, true, 0.1, 1e-5));
    shape(x.rms_norm(&[6], None, None));
    shape(Tensor::ones([3], ())?.batch_norm(None, None, None, true, 0.1, 1e-5));
    let argument = |result: Result<Tensor>| {
        let error = result.expect_err("an argument that makes no sense");
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    };
    argument(x.group_norm(4, None, None, 1e-5));
    argument(x.group_norm(0, None, None, 1e-5));
    argument(x.batch_norm(None, None, None, false, 0.1, 1e-5));
    argument(Tensor::ones([1, 6], ())?.batch_norm(None, None, None, true, 0.1, 1e-5));
    argument(Tensor::ones([2, 6, 1], ())?.instance_norm(None, None, None, true, 0.1, 1e-5));
    let integers = Tensor::ones([2, 6], DType::I64)?;
    let error = integers.batch_norm(None, None, None, true, 0.1, 1e-5).expect_err("no floats");
    assert!(matches!(error, Error::UnsupportedDType { .. }), "{error}");
    Ok(())
}

#[test]
fn a_reduction_has_pytorchs_names() {
    for (name, reduction) in [
        ("none", Reduction::None),
        ("mean", Reduction::Mean),
        ("sum", Reduction::Sum),
        ("batchmean", Reduction::BatchMean),
    ] {
        assert_eq!(name.parse::<Reduction>().expect("a name"), reduction);
    }
    assert!("abc".parse::<Reduction>().is_err());
}

#[test]
fn losses_of_margins_between_classes_are_pytorchs_examples() -> Result<()> {
    for_each_device(|device| {
        let x = tensor![[0.1, 0.2, 0.4, 0.8]]?.to(device)?.requires_grad_(true)?;
        let loss = x.multilabel_margin_loss(&tensor![[3, 0, -1, 1]]?.to(device)?)?;
        assert!((loss.item::<f32>()? - 0.85).abs() < 1e-6);
        loss.backward()?;
        let slopes = x.grad().expect("it was computed").to_vec::<f32>()?;
        assert_eq!(slopes, [-0.5, 0.5, 0.5, -0.5]);
        let squared = x.detach().multi_margin_loss_with(
            &tensor![3]?.to(device)?,
            2,
            1.0,
            None,
            Reduction::Sum,
        )?;
        assert!((squared.item::<f32>()? - (0.09 + 0.16 + 0.36) / 4.0).abs() < 1e-6);
        Ok(())
    })
}

#[test]
fn a_single_score_is_one_class_whose_loss_of_margins_is_nothing() -> Result<()> {
    for_each_device(|device| {
        let score = tensor![2.0]?.squeeze(0)?.to(device)?.requires_grad_(true)?;
        let loss = score.multi_margin_loss(&tensor![0]?.squeeze(0)?.to(device)?)?;
        assert_eq!((loss.shape(), loss.item::<f32>()?), (&[][..], 0.0));
        loss.backward()?;
        assert_eq!(score.grad().expect("it was computed").item::<f32>()?, 0.0);
        // torch.nn.functional.multi_margin_loss(.., reduction="none") has the target's shape.
        let target = tensor![0]?.to(device)?;
        let none = |x: &Tensor| x.multi_margin_loss_with(&target, 1, 1.0, None, Reduction::None);
        assert_eq!(
            (none(&score)?.shape(), none(&score.unsqueeze(0)?)?.shape()),
            (&[1][..], &[1][..])
        );
        Ok(())
    })
}

#[test]
fn a_target_that_is_ignored_counts_nowhere() -> Result<()> {
    for_each_device(|device| {
        let scores = Tensor::randn([3, 4], device)?;
        let target = tensor![0, 7, 2]?.to(device)?;
        let losses = scores.cross_entropy_with(&target, None, 7, 0.1, Reduction::None)?;
        assert_eq!(losses.to_vec::<f32>()?[1], 0.0);
        let mean = scores.cross_entropy_with(&target, None, 7, 0.1, Reduction::Mean)?;
        let expected = losses.sum(())?.div(2)?;
        assert!(mean.allclose(&expected, 1e-5, 1e-6)?);
        Ok(())
    })
}

#[test]
fn rows_longer_than_they_may_be_are_scaled_in_the_table() -> Result<()> {
    for_each_device(|device| {
        let table = tensor![[3.0, 4.0], [0.0, 0.5], [6.0, 8.0]]?.to(device)?;
        let options = EmbeddingOptions::new().max_norm(1.0, 2.0);
        tensor![0, 1, 0]?.to(device)?.embedding_with(&table, options)?;
        let expected = tensor![[0.6, 0.8], [0.0, 0.5], [6.0, 8.0]]?.to(device)?;
        assert!(table.allclose(&expected, 1e-5, 1e-6)?);
        Ok(())
    })
}

#[test]
fn the_largest_numbers_of_a_bag_get_its_gradient() -> Result<()> {
    for_each_device(|device| {
        let table = tensor![[1.0, 5.0], [3.0, 4.0], [3.0, 0.0]]?.to(device)?;
        let table = table.requires_grad_(true)?;
        let (numbers, offsets) = (tensor![0, 1, 2]?.to(device)?, tensor![0, 0, 3]?.to(device)?);
        let options = EmbeddingOptions::new().include_last_offset(true);
        let bags = numbers.embedding_bag(&table, Some(&offsets), BagMode::Max, None, options)?;
        assert_eq!(bags.to_vec::<f32>()?, [0.0, 0.0, 3.0, 5.0], "a bag without rows is zeros");
        bags.sum(())?.backward()?;
        let slopes = table.grad().expect("it was computed").to_vec::<f32>()?;
        assert_eq!(slopes, [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        Ok(())
    })
}

#[test]
fn channels_are_dropped_as_a_whole() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::ones([50, 4, 3, 3], device)?;
        let y = x.dropout2d(0.5, true)?;
        assert!(y.amax((2, 3))?.equal(&y.amin((2, 3))?)?);
        let mean = y.mean(())?.item::<f32>()?;
        assert!((mean - 1.0).abs() < 0.3, "{mean}");
        assert!(x.dropout2d(0.5, false)?.equal(&x)?);
        assert!(x.dropout1d(0.5, true).is_err(), "a sequence has no four dimensions");
        assert_eq!(x.alpha_dropout(1.0, true)?.sum(())?.item::<f32>()?, 0.0);
        Ok(())
    })
}

#[test]
fn what_is_larger_than_the_operands_is_not_kept_for_gradients() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::rand([6, 3], device)?.requires_grad_(true)?;
        let classes = Tensor::new([0i64, 1, 2, 0, 1, 2], device)?;
        let labels = Tensor::new([[0i64, 1, -1]; 6], device)?;
        let weights = Tensor::rand([2, 3], device)?.requires_grad_(true)?;
        let numbers = Tensor::new([[0i64, 5, 1], [2, 2, 3]], device)?;
        let options = EmbeddingOptions::new();
        let bags = numbers.embedding_bag(&x, None, BagMode::Sum, Some(&weights), options)?;
        let operands = [&x, &classes, &labels, &weights, &numbers];
        for (result, most) in [
            (x.multi_margin_loss(&classes)?, 0),
            (x.multilabel_margin_loss(&labels)?, 0),
            (x.cross(&x.detach(), 1)?, 0),
            (x.pdist(2)?, 0),
            (x.cdist(&x, 1)?, 0),
            (bags, 0),
        ] {
            let kept = saved_bytes(&[&result], &operands);
            assert!(
                kept <= most,
                "{} keeps {kept} bytes on {device}",
                result.grad_fn().unwrap_or("")
            );
            result.sum(())?.backward()?;
        }
        Ok(())
    })
}

#[test]
fn labels_that_fit_in_no_way_have_an_infinite_loss_or_none() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::zeros([2, 1, 3], device)?.log_softmax(-1)?.detach().requires_grad_(true)?;
        let labels = Tensor::new([[1i64, 1]], device)?;
        let lost = x.ctc_loss(&labels, &[2], &[2])?;
        assert_eq!(lost.item::<f32>()?, f32::INFINITY);
        let none = x.ctc_loss_with(&labels, &[2], &[2], 0, true, Reduction::Sum)?;
        assert_eq!(none.item::<f32>()?, 0.0);
        none.backward()?;
        assert_eq!(x.grad().expect("zeros").to_vec::<f32>()?, [0.0; 6]);
        assert!(x.ctc_loss(&labels, &[3], &[2]).is_err(), "more steps than there are");
        assert!(x.ctc_loss(&labels, &[2], &[3]).is_err(), "more labels than there are");
        assert!(x.ctc_loss(&labels, &[2, 2], &[2]).is_err(), "a length too many");
        assert!(x.ctc_loss(&labels.to(DType::F32)?, &[2], &[2]).is_err(), "labels of floats");
        let no_class = x.ctc_loss_with(&labels, &[2], &[2], 3, false, Reduction::Sum);
        assert!(no_class.is_err(), "no class of blanks");
        let loss =
            x.ctc_loss_with(&labels.narrow(1, 0, 1)?, &[2], &[1], 0, false, Reduction::Sum)?;
        let again = Backward::new().output(&loss).create_graph().collect(&[&x]);
        let error = again.expect_err("the gradient has none").to_string();
        assert!(error.contains("ctc_loss") && error.contains("create_graph"), "{error}");
        Ok(())
    })
}
