//! What wrong indices and values are told.

use tensor::{DType, Error, Result, Tensor, tensor};

use crate::devices::for_each_device;

#[test]
fn an_index_out_of_range_is_named_with_its_position_and_nothing_is_set() -> Result<()> {
    let x = Tensor::zeros([2, 3], ())?;
    let columns = tensor![[0, 1], [-4, 2]]?;
    let expect = |outcome: Result<Tensor>, name: &str| {
        let error = outcome.expect_err("there is no column -4");
        let named = matches!(
            error,
            Error::IndexOutOfRange { op, position: Some(2), index: -4, size: 3 } if op == name
        );
        assert!(named, "{error:?}");
    };
    expect(x.i((.., &columns)), "i");
    expect(x.i(([0, 1], &columns)), "i");
    expect(x.set_i((.., &columns), 1.0), "set_i");
    expect(x.index_put((0, &columns), 1.0, true), "index_put");
    let refused = x.scatter_(1, &tensor![[0, 3]]?, 1.0);
    assert!(matches!(refused, Err(Error::IndexOutOfRange { position: Some(1), index: 3, .. })));
    assert!(x.index_copy_(0, &tensor![-1]?, &x.i(..1)?).is_err());
    assert_eq!(x.to_vec::<f32>()?, [0.0; 6]);
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_call() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::zeros([2, 3], device)?;
        let told = |outcome: Result<Tensor>, parts: &[&str]| {
            let text = outcome.expect_err("it does not fit").to_string();
            for part in parts {
                assert!(text.contains(part), "{part} in: {text}");
            }
        };
        told(x.i((0, 0, 0)), &["i:", "too many", "3 indices", "2 dimensions"]);
        told(x.i((tensor::Ellipsis, tensor::Ellipsis)), &["i:", "one ellipsis"]);
        told(x.i(&tensor![0.5]?), &["i:", "indices", "float32"]);
        told(x.i(&tensor![true, false, true]?), &["i:", "mask", "[3]", "[2, 3]"]);
        told(x.i(([0, 1], [0, 1, 2])), &["[2]", "[3]"]);
        let three = Tensor::ones([3], device)?;
        told(x.set_i((.., 0), &three), &["set_i:", "[3]", "[2]"]);
        told(x.set_i((.., [0, 1]), &three), &["set_i:", "[3]", "[2, 2]"]);
        told(x.set_i([0], &three.to(DType::F64)?), &["set_i:", "float64", "float32"]);
        told(x.to(DType::U8)?.set_i(0, 300), &["set_i:", "300", "uint8"]);
        told(x.to(DType::U8)?.set_i([0], 300), &["set_i:", "300", "uint8"]);
        // Elements of which each stands for two.
        assert!(x.expand([2, 2, 3])?.set_i([0], 1.0).is_err());
        told(x.scatter(0, &tensor![[0, 0]]?.to(device)?, &three), &["scatter:", "[3]", "[1, 2]"]);
        told(x.index_copy(0, &tensor![0]?.to(device)?, &three), &["index_copy:", "[3]", "[2, 3]"]);
        let mask = tensor![true, true, false]?.to(device)?;
        told(x.masked_scatter(&mask, &three), &["masked_scatter:", "3 elements", "4 true"]);
        told(x.masked_scatter(&three, &three), &["masked_scatter:", "mask", "bool"]);
        told(three.masked_scatter_(&x.eq(0.0)?, &x), &["expand"]);
        Ok(())
    })
}
