//! Host memory read through guards, while others want to write it.

use std::sync::mpsc;

use tensor::{DType, Error, Result, Tensor, tensor};

use crate::devices::cuda_devices;

#[test]
fn a_guard_is_a_slice_of_the_tensors_own_memory() -> Result<()> {
    let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    assert_eq!(&x.read::<f32>()?[..], [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(&x.select(0, 1)?.read::<f32>()?[..], [3.0, 4.0]);
    assert!(tensor![true, false]?.read::<bool>()?[0]);
    assert!(x.read::<f64>().is_err(), "another dtype");
    assert!(matches!(x.t()?.read::<f32>(), Err(Error::NotContiguous { .. })));
    let there = Tensor::zeros([2], cuda_devices()[0])?;
    assert!(matches!(there.read::<f32>(), Err(Error::NotOnHost { op: "read", .. })));
    Ok(())
}

#[test]
fn writing_what_this_thread_reads_is_an_error_and_no_deadlock() -> Result<()> {
    let x = tensor![1.0, 2.0]?;
    let guard = x.read::<f32>()?;
    let error = x.add_(1.0).expect_err("the guard says that nothing changes");
    assert!(matches!(error, Error::GuardHeld { .. }), "{error:?}");
    assert!(x.copy_(&Tensor::ones([2], cuda_devices()[0])?).is_err());
    assert_eq!(x.add(&x)?.to_vec::<f32>()?, [2.0, 4.0], "reading goes on");
    let again = x.read::<f32>()?;
    drop(guard);
    assert!(x.add_(1.0).is_err(), "the second guard still lives");
    drop(again);
    x.add_(1.0)?;
    assert_eq!(x.to_vec::<f32>()?, [2.0, 3.0]);
    Ok(())
}

#[test]
fn another_threads_write_waits_for_the_guard() -> Result<()> {
    let x = tensor![1.0]?;
    let guard = x.read::<f32>()?;
    let (ended, end) = mpsc::channel();
    let writer = std::thread::spawn({
        let x = x.clone();
        move || {
            let result = x.fill_(5.0);
            ended.send(()).expect("the test waits");
            result
        }
    });
    assert!(end.try_recv().is_err(), "the writer cannot have ended");
    // Reading again does not queue behind the writer that waits.
    assert_eq!((guard[0], x.read::<f32>()?[0], x.sum()?.item::<f32>()?), (1.0, 1.0, 1.0));
    drop(guard);
    writer.join().expect("it ends")?;
    assert_eq!(x.item::<f32>()?, 5.0);
    Ok(())
}

#[test]
fn threads_that_write_each_others_operands_neither_deadlock_nor_lose_additions() -> Result<()> {
    let (a, b) = (Tensor::zeros([64], DType::I64)?, Tensor::zeros([64], DType::I64)?);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (a, b) = if thread % 2 == 0 { (&a, &b) } else { (&b, &a) };
            scope.spawn(move || {
                for _ in 0..50 {
                    a.add_(1).expect("alone with it");
                    b.sub(a).expect("both are read");
                }
            });
        }
    });
    assert_eq!(a.add(&b)?.to_vec::<i64>()?, [400; 64]);
    Ok(())
}
