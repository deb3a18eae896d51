//! What modules may ask for, and what their variables cost.

use std::ffi::{CStr, CString, c_void};
use std::fs;
use std::ptr;

use cuda_sys::{CUjit_option, CUmodule, CUresult};

use crate::sim::{Gpu, download, function, in_child, start, upload};
use crate::{fails, ok};

const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

/// Loads a module; the result, and what the log of errors says.
fn load(text: &str, module: &mut CUmodule) -> (CUresult, String) {
    let image = CString::new(format!("{HEAD}{text}")).expect("no NUL within");
    let mut log = [0_u8; 300];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let size: *mut c_void = ptr::without_provenance_mut(log.len());
    let mut values = [log.as_mut_ptr().cast(), size];
    let result = crate::sim::cuda!(cuModuleLoadDataEx(
        module,
        image.as_ptr().cast(),
        2,
        options.as_mut_ptr(),
        values.as_mut_ptr()
    ));
    let log = CStr::from_bytes_until_nul(&log).expect("it ends");
    (result, log.to_str().expect("a text").to_owned())
}

#[test]
fn static_shared_memory_beyond_48_kib_is_invalid_ptx_and_the_log_names_the_limit() {
    let _gpu = Gpu::take();
    let kernel = |bytes: usize| {
        format!(
            ".entry k(.param .u64 p) {{ .shared .b8 s[{bytes}]; .reg .b32 %r;
            ld.shared.u8 %r, [s]; ret; }}"
        )
    };
    let mut module = ptr::null_mut();
    let (result, log) = load(&kernel(61440), &mut module);
    assert_eq!(result, CUresult::CUDA_ERROR_INVALID_PTX);
    assert!(log.contains("shared memory") && log.contains("49152"), "{log}");
    assert_eq!(load(&kernel(49152), &mut module).0, CUresult::CUDA_SUCCESS);
    ok!(cuModuleUnload(module));
}

#[test]
fn a_file_without_an_end_is_refused() {
    let _gpu = Gpu::take();
    let mut module = ptr::null_mut();
    for path in [c"/dev/zero", c"/dev/null", c"/"] {
        fails!(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&mut module, path.as_ptr()));
    }
}

/// The most memory that the process had at a time, in KiB.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it is there");
    line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number")
}

#[test]
fn a_large_variable_takes_no_memory_before_somebody_writes_to_it() {
    in_child(&[], || {
        start();
        let gpu = Gpu::take();
        gpu.enter();
        let text = ".global .b32 large[2][25165824] = { {1}, {2, 3} };";
        let before = peak();
        let mut module = ptr::null_mut();
        assert_eq!(load(text, &mut module).0, CUresult::CUDA_SUCCESS);
        let grown = peak() - before;
        assert!(grown < 32 << 10, "{grown} KiB");
        let (mut address, mut bytes) = (0, 0);
        ok!(cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c"large".as_ptr()));
        assert_eq!(bytes, 192 << 20);
        assert_eq!(download::<u32, 3>(address), [1, 0, 0]);
        assert_eq!(download::<u32, 4>(address + (96 << 20) - 4), [0, 2, 3, 0]);
        ok!(cuModuleUnload(module));
    });
}

#[test]
fn a_small_variable_is_zero_where_others_have_been_before_it() {
    in_child(&[], || {
        let gpu = Gpu::take();
        for _ in 0..3 {
            let used = gpu.allocate(4096);
            upload(used, &[u64::MAX; 512]);
            ok!(cuMemFree_v2(used));
            let mut module = ptr::null_mut();
            let text = ".global .align 8 .b64 small[512] = { 5 };";
            assert_eq!(load(text, &mut module).0, CUresult::CUDA_SUCCESS);
            let mut address = 0;
            let none = ptr::null_mut();
            ok!(cuModuleGetGlobal_v2(&mut address, none, module, c"small".as_ptr()));
            let contents = download::<u64, 512>(address);
            assert!(contents[0] == 5 && contents[1..].iter().all(|&value| value == 0));
            ok!(cuModuleUnload(module));
        }
    });
}

#[test]
fn a_function_tells_every_parameter_and_no_more() {
    let _gpu = Gpu::take();
    let mut module = ptr::null_mut();
    let text = ".entry none() { ret; }
        .entry all(.param .b8 byte, .param .align 16 .b8 struct[20], .param .b16 half,
        .param .align 8 .b8 empty_like[1], .param .f64 double, .param .u64 .ptr .global p) { ret; }";
    assert_eq!(load(text, &mut module).0, CUresult::CUDA_SUCCESS);
    let places = |name| {
        let function = function(module, name);
        let mut places = Vec::new();
        let (mut offset, mut bytes) = (0, 0);
        while crate::sim::cuda!(cuFuncGetParamInfo(function, places.len(), &mut offset, &mut bytes))
            == CUresult::CUDA_SUCCESS
        {
            places.push((offset, bytes));
        }
        let last = places.len();
        fails!(
            CUDA_ERROR_INVALID_VALUE,
            cuFuncGetParamInfo(function, last, &mut offset, &mut bytes)
        );
        places
    };
    assert_eq!(places(c"none"), []);
    let expected = [(0, 1), (16, 20), (36, 2), (40, 1), (48, 8), (56, 8)];
    assert_eq!(places(c"all"), expected);
    ok!(cuModuleUnload(module));
}
