//! A kernel: its module loaded from PTX, launched, and its result.

use std::ffi::{CString, c_void};
use std::ptr;

use cuda_driver_sys::*;

use crate::support::{Context, check};

const PTX: &str = include_str!("../../../../kernels/ptx/saxpy.ptx");

#[test]
fn a_kernel_computes() {
    let _context = Context::new(0);
    let (_module, saxpy) = load(PTX, "saxpy");
    let (x, y): (Vec<f32>, Vec<f32>) = (0..1000).map(|i| (i as f32, 1.0)).unzip();
    let (device_x, device_y) = (upload(&x), upload(&y));
    let (mut n, mut a, mut x_argument, mut y_argument) =
        (x.len() as u64, 2.0f32, device_x, device_y);
    let mut arguments: [*mut c_void; 4] = [
        (&raw mut n).cast(),
        (&raw mut a).cast(),
        (&raw mut x_argument).cast(),
        (&raw mut y_argument).cast(),
    ];
    let mut result = vec![0.0f32; y.len()];
    // SAFETY: the arguments have the kernel's types, the memory has `n` elements, and the result is
    // read by a copy that waits for the kernel.
    unsafe {
        let (no_stream, no_extra) = (ptr::null_mut(), ptr::null_mut());
        let arguments = arguments.as_mut_ptr();
        check(cuLaunchKernel(saxpy, 4, 1, 1, 256, 1, 1, 0, no_stream, arguments, no_extra));
        check(cuMemcpyDtoH_v2(result.as_mut_ptr().cast(), device_y, size_of_val(&result[..])));
        check(cuMemFree_v2(device_x));
        check(cuMemFree_v2(device_y));
    }
    let expected: Vec<f32> = x.iter().map(|x| 2.0 * x + 1.0).collect();
    assert_eq!(result, expected);
}

#[test]
fn what_is_no_ptx_is_refused() {
    let _context = Context::new(0);
    let (text, mut module) = (CString::new("no PTX").expect("no NUL"), ptr::null_mut());
    // SAFETY: `text` ends in NUL, and `module` is writable.
    let result = unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) };
    assert!(
        [CUresult::CUDA_ERROR_INVALID_PTX, CUresult::CUDA_ERROR_INVALID_IMAGE].contains(&result)
    );
}

fn load(ptx: &str, kernel: &str) -> (CUmodule, CUfunction) {
    let (text, name) = (CString::new(ptx).expect("no NUL"), CString::new(kernel).expect("no NUL"));
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: both texts end in NUL, and the outputs are writable.
    unsafe {
        check(cuModuleLoadData(&mut module, text.as_ptr().cast()));
        check(cuModuleGetFunction(&mut function, module, name.as_ptr()));
    }
    (module, function)
}

fn upload(values: &[f32]) -> CUdeviceptr {
    let (mut device, bytes) = (0, size_of_val(values));
    // SAFETY: both ends of the copy have `bytes` bytes.
    unsafe {
        check(cuMemAlloc_v2(&mut device, bytes));
        check(cuMemcpyHtoD_v2(device, values.as_ptr().cast(), bytes));
    }
    device
}
