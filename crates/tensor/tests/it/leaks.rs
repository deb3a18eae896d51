//! What checked mode lists when a process ends: what the program has lost, and not what caches keep.

use std::any::Any;
use std::process::Command;

use tensor::{Blocking, Device, Result, Tensor, cuda};
use test_support::steers_software_driver;

/// Set in the child, to what it is to lose.
const LOSES: &str = "SLUICE_TEST_LOSES";

/// A program that uses whatever there is a cache for.
fn program() -> Result<Vec<Box<dyn Any>>> {
    let [here, there] = [0, 1].map(Device::cuda_at);
    let x = Tensor::rand([1000, 100], here)?;
    let y = x.to(there)?.matmul(&Tensor::ones([100, 10], there)?)?;
    let pinned = y.cpu()?.pin_memory()?;
    let back = pinned.to_with(here, Blocking::No)?.sum(())?;
    assert!(back.item::<f32>()?.is_finite());
    drop(Tensor::ones([5], here)?.to_host_async()?);
    // The allocator remembers the stream, whose work has used what is cached.
    let side = cuda::Stream::new(here)?;
    {
        let _in = side.enter()?;
        drop((&x + &x)?);
    }
    cuda::synchronize(here)?;
    let zeros = Tensor::zeros([3000], here)?;
    Ok(vec![Box::new(x), Box::new(y), Box::new(pinned), Box::new(side), Box::new(zeros)])
}

/// The child, and nothing otherwise.
#[test]
fn child() {
    let Ok(loses) = std::env::var(LOSES) else { return };
    let mut left = program().expect("the devices work");
    if let Ok(index) = loses.parse::<usize>() {
        test_support::forget(left.swap_remove(index));
    }
}

/// What the child says that loses one of what it has, or nothing.
fn said(loses: &str) -> String {
    let test = std::env::current_exe().expect("this test");
    let output = Command::new(test)
        .args(["leaks::child", "--exact"])
        .envs([(LOSES, loses), ("GPU_DRIVER", "software:2"), ("CUDA_SIM_CHECK", "1")])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn a_program_that_loses_nothing_leaves_no_leak_behind() {
    if !steers_software_driver("a_program_that_loses_nothing_leaves_no_leak_behind") {
        return;
    }
    let said = said("nothing");
    assert!(!said.contains("not given back"), "{said}");
}

#[test]
fn a_tensor_or_stream_that_is_lost_is_listed_whatever_is_cached() {
    if !steers_software_driver("a_tensor_or_stream_that_is_lost_is_listed_whatever_is_cached") {
        return;
    }
    let lost = ["mapped memory", "mapped memory", "page-locked memory", "stream made by"];
    for (index, what) in lost.iter().enumerate() {
        let said = said(&index.to_string());
        assert!(said.contains("not given back") && said.contains(what), "{what}: {said}");
    }
}
