//! Attention beyond PyTorch's numbers: what it keeps, layouts, sizes, dropout, and what it refuses.
//! The numbers are those of `tests/expected/attention.py`.

use tensor::{
    AttentionOptions, Backward, DType, Device, Error, Result, Tensor, no_grad, saved_bytes,
    with_manual_seed,
};

use crate::apply::Run;
use crate::devices::for_each_kind;

/// The operation of the cases.
pub(crate) const ATTENTION: &[(&str, Run)] = &[("attention", |case, x| {
    let scale = case.float("scale");
    let options = AttentionOptions::new()
        .attn_mask(x.get(3).cloned())
        .is_causal(case.flag("causal"))
        .scale((scale > 0.0).then_some(scale))
        .enable_gqa(case.flag("shares"));
    x[0].scaled_dot_product_attention(&x[1], &x[2], options)
})];

fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    x.cpu()?.to(DType::F64)?.to_vec::<f64>()
}

#[track_caller]
fn assert_close(a: &Tensor, b: &Tensor, tolerance: f64) -> Result<()> {
    assert_eq!(a.shape(), b.shape());
    for (a, b) in numbers(a)?.into_iter().zip(numbers(b)?) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{a}, not {b}");
    }
    Ok(())
}

/// The same by operations one after the other, with a mask that is added.
fn composed([q, k, v]: [&Tensor; 3], mask: Option<&Tensor>) -> Result<Tensor> {
    let scale = 1.0 / (q.shape()[3] as f64).sqrt();
    let scores = q.matmul(&k.mt()?)?.mul(scale)?;
    let scores = mask.map_or(Ok(scores.clone()), |mask| scores.add(mask))?;
    scores.softmax(-1)?.matmul(v)
}

/// What causality is as a mask that is added.
fn causal_mask([queries, keys]: [usize; 2], like: &Tensor) -> Result<Tensor> {
    let hidden = Tensor::ones([queries, keys], (DType::Bool, like.device()))?.triu(1)?;
    Tensor::zeros([queries, keys], (like.dtype(), like.device()))?
        .masked_fill(&hidden, f64::NEG_INFINITY)
}

/// Queries, keys and values, of which each is a transposed part of one array, as in a network.
fn operands(device: Device, dtype: DType, sizes: [usize; 6]) -> Result<[Tensor; 3]> {
    let [batch, heads, queries, keys, depth, columns] = sizes;
    let leaf = |rows: usize, columns: usize| {
        let all = Tensor::randn([batch, rows, heads, columns + 1], (dtype, device))?;
        all.requires_grad_(true)?.narrow(-1, 1, columns)?.transpose(1, 2)
    };
    Ok([leaf(queries, depth)?, leaf(keys, depth)?, leaf(keys, columns)?])
}

#[test]
fn blocks_of_every_size_give_what_the_operations_one_by_one_give() -> Result<()> {
    for_each_kind(|device| {
        let sizes: &[[usize; 6]] = match device {
            Device::Cpu => &[
                [1, 1, 1, 1, 1, 1],
                [2, 3, 170, 170, 64, 64],
                [1, 2, 1, 300, 64, 64],
                [2, 2, 33, 129, 20, 7],
                [1, 1, 300, 40, 17, 48],
                [1, 2, 16, 16, 8, 96],
            ],
            Device::Cuda(_) => &[[1, 1, 1, 1, 1, 1], [1, 2, 70, 37, 20, 7], [1, 1, 5, 80, 70, 64]],
        };
        for &sizes in sizes {
            for causal in [false, true] {
                let [q, k, v] = operands(device, DType::F64, sizes)?;
                let options = AttentionOptions::new().is_causal(causal);
                let ours = q.scaled_dot_product_attention(&k, &v, options)?;
                let mask = causal_mask([sizes[2], sizes[3]], &q)?;
                let theirs = composed([&q, &k, &v], causal.then_some(&mask))?;
                assert_close(&ours, &theirs, 1e-10)?;
                let seed = Tensor::randn(ours.shape(), (DType::F64, device))?;
                let gradients =
                    |y: &Tensor| Backward::new().output_with(y, &seed).collect(&[&q, &k, &v]);
                for (ours, theirs) in gradients(&ours)?.iter().zip(gradients(&theirs)?) {
                    let (ours, theirs) = (ours.as_ref().expect("it is"), theirs.expect("it is"));
                    assert_close(ours, &theirs, 1e-9)?;
                }
            }
        }
        Ok(())
    })
}

#[test]
fn it_keeps_nothing_but_operands_result_and_a_number_for_each_query() -> Result<()> {
    for_each_kind(|device| {
        let [q, k, v] = operands(device, DType::F32, [1, 2, 40, 50, 8, 8])?;
        let y = q.scaled_dot_product_attention(&k, &v, AttentionOptions::new().dropout_p(0.5))?;
        assert_eq!(saved_bytes(&[&y], &[&q, &k, &v, &y]), 2 * 40 * 4);
        Ok(())
    })
}

#[test]
fn halves_are_computed_in_single_precision() -> Result<()> {
    for_each_kind(|device| {
        for (dtype, tolerance) in [(DType::F16, 2e-3), (DType::BF16, 2e-2)] {
            let [q, k, v] = operands(device, dtype, [1, 2, 33, 40, 16, 16])?;
            let mask = Tensor::randn([33, 40], (DType::F32, device))?;
            let options = AttentionOptions::new().attn_mask(mask.clone());
            let ours = q.scaled_dot_product_attention(&k, &v, options)?;
            assert_eq!(ours.dtype(), dtype);
            let wide = [q.to(DType::F32)?, k.to(DType::F32)?, v.to(DType::F32)?];
            let theirs = composed(wide.each_ref(), Some(&mask))?;
            assert_close(&ours, &theirs, tolerance)?;
            let seed = Tensor::randn(ours.shape(), (DType::F32, device))?;
            let of = |y: &Tensor| Backward::new().output_with(y, &seed).collect(&[&q, &k, &v]);
            for (ours, theirs) in of(&ours.to(DType::F32)?)?.iter().zip(of(&theirs)?) {
                let (ours, theirs) = (ours.as_ref().expect("it is"), theirs.expect("it is"));
                assert_close(ours, &theirs, 8.0 * tolerance)?;
            }
        }
        Ok(())
    })
}

#[test]
fn the_gradient_drops_what_the_result_dropped_recorded_or_not() -> Result<()> {
    for_each_kind(|device| {
        let [q, k, v] = operands(device, DType::F64, [2, 2, 35, 7, 5, 5])?;
        let options = || AttentionOptions::new().dropout_p(0.4);
        let y = with_manual_seed(5, || q.scaled_dot_product_attention(&k, &v, options()))?;
        // The mask that requires gradients makes it compose the same of other operations.
        let zeros = Tensor::zeros([7], (DType::F64, device))?.requires_grad_(true)?;
        let masked = options().attn_mask(zeros);
        let other = with_manual_seed(5, || q.scaled_dot_product_attention(&k, &v, masked))?;
        assert_close(&y, &other, 1e-10)?;
        let plain = q.scaled_dot_product_attention(&k, &v, ())?;
        assert!(numbers(&y.sub(&plain)?)?.iter().any(|x| x.abs() > 1e-3), "something was dropped");
        let of = |y: &Tensor, recorded: bool| {
            let square = y.square()?.sum(())?;
            let pass = Backward::new().output(&square);
            let pass = if recorded { pass.create_graph() } else { pass.retain_graph() };
            pass.collect(&[&q, &k, &v])
        };
        let (own, again, composed) = (of(&y, false)?, of(&y, true)?, of(&other, false)?);
        for ((own, again), composed) in own.iter().zip(again).zip(composed) {
            let own = own.as_ref().expect("it is");
            assert_close(own, &again.expect("it is"), 1e-9)?;
            assert_close(own, &composed.expect("it is"), 1e-9)?;
        }
        Ok(())
    })
}

#[test]
fn what_is_dropped_is_as_much_as_was_asked_for_and_scaled() -> Result<()> {
    for_each_kind(|device| {
        let q = Tensor::zeros([1, 1, 64, 4], device)?;
        let v = Tensor::eye(60, device)?.reshape([1, 1, 60, 60])?;
        let k = Tensor::zeros([1, 1, 60, 4], device)?;
        let options = AttentionOptions::new().dropout_p(0.25);
        let shares = numbers(&q.scaled_dot_product_attention(&k, &v, options)?.mul(60.0)?)?;
        let dropped = shares.iter().filter(|&&x| x == 0.0).count() as f64 / shares.len() as f64;
        assert!((0.22..0.28).contains(&dropped), "{dropped}");
        assert!(shares.iter().all(|x| *x == 0.0 || (x - 4.0 / 3.0).abs() < 1e-5));
        let all = AttentionOptions::new().dropout_p(1.0);
        assert!(numbers(&q.scaled_dot_product_attention(&k, &v, all)?)?.iter().all(|x| *x == 0.0));
        Ok(())
    })
}

#[test]
fn without_keys_queries_or_elements_there_is_an_answer() -> Result<()> {
    for_each_kind(|device| {
        let new = |rows: usize, columns: usize| {
            Tensor::ones([2, rows, columns], device)?.requires_grad_(true)
        };
        for [queries, keys, depth, columns] in
            [[3, 0, 4, 4], [0, 3, 4, 4], [3, 4, 0, 2], [3, 4, 2, 0]]
        {
            let (q, k, v) = (new(queries, depth)?, new(keys, depth)?, new(keys, columns)?);
            let y = q.scaled_dot_product_attention(&k, &v, ())?;
            assert_eq!(y.shape(), [2, queries, columns]);
            let wanted = if keys == 0 { 0.0 } else { 1.0 };
            assert!(numbers(&y)?.iter().all(|&x| x == wanted), "{y:?}");
            y.sum(())?.backward()?;
            let gradient = q.grad().expect("it was computed");
            assert!(numbers(&gradient)?.iter().all(|&x| x == 0.0));
        }
        Ok(())
    })
}

#[test]
fn a_query_that_sees_no_key_gives_zeros_and_no_gradient() -> Result<()> {
    for_each_kind(|device| {
        let [q, k, v] = operands(device, DType::F32, [1, 1, 2, 3, 4, 4])?;
        let seen = Tensor::ones([2, 3], (DType::Bool, device))?;
        seen.narrow(0, 1, 1)?.zero_()?;
        let added =
            Tensor::zeros([2, 3], device)?.masked_fill(&seen.logical_not()?, f64::NEG_INFINITY)?;
        for mask in [seen, added] {
            let options = AttentionOptions::new().attn_mask(mask);
            let y = q.scaled_dot_product_attention(&k, &v, options)?;
            assert_eq!(numbers(&y.narrow(2, 1, 1)?)?, [0.0; 4]);
            let gradients = Backward::new().output(&y.sum(())?).collect(&[&q])?;
            let of_q = gradients[0].as_ref().expect("it was computed");
            assert_eq!(numbers(&of_q.narrow(2, 1, 1)?)?, [0.0; 4]);
        }
        Ok(())
    })
}

#[test]
fn nothing_is_recorded_without_grad_mode() -> Result<()> {
    let [q, k, v] = operands(Device::Cpu, DType::F32, [1, 1, 2, 3, 4, 4])?;
    let y = no_grad(|| q.scaled_dot_product_attention(&k, &v, ()))?;
    assert!(!y.requires_grad());
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error_that_says_why() -> Result<()> {
    let new = |shape: &[usize]| Tensor::ones(shape, ());
    let attend = |q: &Tensor, k: &Tensor, v: &Tensor, options: AttentionOptions| {
        q.scaled_dot_product_attention(k, v, options).map(|_| ())
    };
    let plain = AttentionOptions::new;
    let (x, vector) = (new(&[2, 4])?, new(&[4])?);
    let shapes = [
        attend(&vector, &x, &x, plain()),
        attend(&x, &new(&[2, 5])?, &x, plain()),
        attend(&x, &new(&[3, 4])?, &x, plain()),
        attend(&x, &x, &x, plain().enable_gqa(true)),
        attend(&new(&[4, 2, 4])?, &new(&[2, 2, 4])?, &new(&[2, 2, 4])?, plain()),
        attend(&new(&[4, 2, 4])?, &new(&[3, 2, 4])?, &new(&[3, 2, 4])?, plain().enable_gqa(true)),
        attend(&x, &x, &x, plain().attn_mask(new(&[3, 2])?)),
    ];
    for outcome in shapes {
        assert!(matches!(outcome, Err(Error::ShapeMismatch { .. })), "{outcome:?}");
    }
    let dtypes = [
        attend(&x, &x.to(DType::F64)?, &x, plain()),
        attend(&x, &x, &x, plain().attn_mask(x.narrow(1, 0, 2)?.to(DType::I64)?)),
    ];
    for outcome in dtypes {
        assert!(matches!(outcome, Err(Error::DTypeMismatch { .. })), "{outcome:?}");
    }
    let mask = Tensor::ones([2, 2], DType::Bool)?;
    let arguments = [
        attend(&x, &x, &x, plain().dropout_p(1.5)),
        attend(&x, &x, &x, plain().attn_mask(mask).is_causal(true)),
    ];
    for outcome in arguments {
        assert!(matches!(outcome, Err(Error::InvalidArgument { .. })), "{outcome:?}");
    }
    let whole = x.to(DType::I64)?;
    assert!(attend(&whole, &whole, &whole, plain()).is_err());
    Ok(())
}
