//! Linear algebra on decompositions. The numbers are those of `tests/expected/special.py`.

use tensor::{DType, Device, Error, MatrixNorm, QrMode, RankTolerance, Result, Tensor, tensor};

use crate::devices::cuda_devices;
use crate::expected::{Case, cases};
use crate::special::assert_both_orders;

fn apply(case: &Case, x: &[Tensor]) -> Result<Tensor> {
    let tolerance = RankTolerance::default();
    let upper = case.flag("upper");
    let symmetric = |x: &Tensor| x.add(&x.transpose(-2, -1)?);
    let product = |x: &Tensor| x.matmul(&x.transpose(-2, -1)?);
    match case.op() {
        "cholesky" => product(&x[0])?.add(&Tensor::eye(3, x[0].dtype())?)?.cholesky(upper),
        "inv" => x[0].inv(),
        "det" => x[0].det(),
        "logdet_of_square" => product(&x[0])?.logdet(),
        "slogdet" => Ok(x[0].slogdet()?.1),
        "svdvals" => x[0].svdvals(),
        "eigvalsh" => symmetric(&x[0])?.eigvalsh(false),
        "pinv" => x[0].pinv(tolerance, false),
        "solve" => x[0].solve(&x[1], case.flag("left")),
        "solve_triangular" => x[0].solve_triangular(&x[1], upper, true, case.flag("unit")),
        "cholesky_solve" => x[0].cholesky_solve(&x[1], upper),
        "cholesky_inverse" => x[0].cholesky_inverse(upper),
        "lu_l" => Ok(x[0].lu()?.1),
        "lu_u" => Ok(x[0].lu()?.2),
        "qr_square" => x[0].qr(QrMode::Reduced)?.1.square(),
        "qr_projection" => {
            let (q, _) = x[0].qr(QrMode::Reduced)?;
            product(&q.narrow(1, 0, q.shape()[1] - 1)?)
        }
        "svd_projection" => {
            let (u, s, vh) = x[0].svd(false)?;
            u.narrow(1, 0, 1)?.matmul(&vh.narrow(0, 0, 1)?)?.mul(&s.select(0, 0)?)
        }
        "lstsq" => Ok(x[0].lstsq(&x[1], None)?.solution),
        "eigh_projection" => {
            let (values, vectors) = symmetric(&x[0])?.eigh(false)?;
            product(&vectors.narrow(-1, 0, 1)?)?.mul(&values.narrow(-1, 0, 1)?.unsqueeze(-1)?)
        }
        "lu_solve" => {
            let pivots = Tensor::from_vec(case.ints::<i32>("pivots"), [2, 3], ())?;
            x[0].lu_solve(&pivots, &x[1], true, case.flag("adjoint"))
        }
        "matrix_norm" => x[0].matrix_norm(order(case), [-2, -1], false),
        "cond" => x[0].cond(order(case)),
        "tensorinv" => x[0].tensorinv(1),
        "tensorsolve" => x[0].tensorsolve(&x[1], ()),
        other => panic!("no operation {other} here"),
    }
}

fn order(case: &Case) -> MatrixNorm {
    match case.arg("order").as_str() {
        Some("2") => MatrixNorm::Two,
        Some("-2") => MatrixNorm::NegTwo,
        _ => MatrixNorm::Nuclear,
    }
}

#[test]
fn decompositions_have_the_values_and_gradients_of_both_orders_that_pytorch_gives() -> Result<()> {
    cases("linalg").iter().try_for_each(|case| assert_both_orders(case, Device::Cpu, apply))
}

#[test]
fn factors_multiply_to_the_matrices_that_they_are_of() -> Result<()> {
    for shape in [[2, 3, 3], [2, 2, 4], [2, 4, 2], [0, 3, 3], [2, 0, 3], [2, 3, 0]] {
        let a = Tensor::randn(shape, DType::F64)?;
        let is_a = |product: &Tensor| product.allclose(&a, 1e-10, 1e-10);
        let (p, l, u) = a.lu()?;
        assert!(is_a(&p.matmul(&l)?.matmul(&u)?)?, "lu of {shape:?}");
        for mode in [QrMode::Reduced, QrMode::Complete] {
            let (q, r) = a.qr(mode)?;
            assert!(is_a(&q.matmul(&r)?)?, "qr of {shape:?}");
        }
        for full in [false, true] {
            let (u, s, vh) = a.svd(full)?;
            let size = s.shape()[1];
            let (u, vh) = (u.narrow(-1, 0, size)?, vh.narrow(-2, 0, size)?);
            assert!(is_a(&u.mul(&s.unsqueeze(-2)?)?.matmul(&vh)?)?, "svd of {shape:?}");
            assert!(a.svdvals()?.allclose(&s, 1e-10, 1e-10)?);
        }
        let pinv = a.pinv(RankTolerance::default(), false)?;
        assert!(is_a(&a.matmul(&pinv)?.matmul(&a)?)?, "pinv of {shape:?}");
    }
    Ok(())
}

#[test]
fn strided_matrices_are_read_as_they_are_seen() -> Result<()> {
    let a = Tensor::randn([3, 3], DType::F64)?;
    let turned = a.t()?;
    assert!(turned.inv()?.allclose(&a.inv()?.t()?, 1e-9, 1e-9)?);
    assert!(turned.det()?.allclose(&a.det()?, 1e-9, 1e-9)?);
    Ok(())
}

#[test]
fn a_singular_matrix_is_an_error_that_names_it_or_a_number_of_the_ex_forms() -> Result<()> {
    let zeros = Tensor::zeros([3, 3], DType::F64)?;
    let a = Tensor::stack([&Tensor::eye(3, DType::F64)?, &zeros], 0)?;
    for error in
        [a.inv().unwrap_err(), a.solve(&a, true).unwrap_err(), a.cholesky(false).unwrap_err()]
    {
        assert!(error.to_string().contains("matrix [1] of the batch"), "{error}");
    }
    assert_eq!(a.inv_ex()?.1.to_vec::<i32>()?, [0, 1]);
    assert_eq!(a.solve_ex(&a, true)?.1.to_vec::<i32>()?, [0, 1]);
    assert_eq!(a.cholesky_ex(true)?.1.to_vec::<i32>()?, [0, 1]);
    assert_eq!(a.det()?.to_vec::<f64>()?, [1.0, 0.0]);
    assert_eq!(a.slogdet()?.1.to_vec::<f64>()?, [0.0, f64::NEG_INFINITY]);
    assert_eq!(a.matrix_rank(RankTolerance::default(), true)?.to_vec::<i64>()?, [3, 0]);
    assert_eq!(a.cond(MatrixNorm::One)?.to_vec::<f64>()?, [1.0, f64::INFINITY]);
    Ok(())
}

#[test]
fn nan_ends_iterations_as_an_error() -> Result<()> {
    let a = Tensor::full([2, 2], f64::NAN, DType::F64)?;
    for result in [a.svdvals().map(drop), a.svd(true).map(drop), a.eigh(false).map(drop)] {
        assert!(matches!(result, Err(Error::InvalidArgument { .. })), "{result:?}");
    }
    Ok(())
}

#[test]
fn other_devices_and_dtypes_are_errors_with_a_way_out() -> Result<()> {
    for device in cuda_devices() {
        let error = Tensor::eye(2, device)?.inv().unwrap_err();
        assert!(matches!(error, Error::NotOnHost { .. }), "{error}");
        assert!(error.to_string().contains(".cpu()"), "{error}");
    }
    assert!(matches!(tensor![[1, 2], [3, 4]]?.det(), Err(Error::UnsupportedDType { .. })));
    assert!(matches!(Tensor::ones([2, 3], ())?.inv(), Err(Error::ShapeMismatch { .. })));
    assert!(tensor![1.0]?.svd(false).is_err());
    Ok(())
}
