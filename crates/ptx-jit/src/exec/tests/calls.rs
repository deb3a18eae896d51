//! Calls of functions, and memory of threads.

use std::ptr;

use super::harness::{at_each_level, corpus};
use crate::exec::FaultKind;

#[test]
fn structures_are_passed_and_returned_by_value() {
    at_each_level(corpus!("calls"), |device| {
        let output = device.allocate(32 * 4);
        device.launch("by_value", [1, 1, 1], [32, 1, 1], 0, &[&output]).expect("no fault");
        let expected: Vec<i32> =
            (0..32).map(|t| (2 * t + 2) * 10000 + (t + 1) * 100 + 7 + 9).collect();
        assert_eq!(device.download::<i32>(output), expected);
    });
}

#[test]
fn threads_wait_inside_functions() {
    at_each_level(corpus!("calls"), |device| {
        let output = device.allocate(64 * 4);
        device
            .launch("barrier_in_function", [1, 1, 1], [64, 1, 1], 0, &[&output])
            .expect("no fault");
        let expected: Vec<i32> = (0..64).map(|t| (t + 9) % 64 + 3).collect();
        assert_eq!(device.download::<i32>(output), expected);
    });
}

#[test]
fn functions_call_themselves() {
    at_each_level(corpus!("calls"), |device| {
        let output = device.allocate(16 * 4);
        device.launch("recursive", [1, 1, 1], [16, 1, 1], 0, &[&output]).expect("no fault");
        assert_eq!(device.download::<u32>(output)[10..], [55, 89, 144, 233, 377, 610]);
    });
}

#[test]
fn endless_recursion_is_a_fault() {
    at_each_level(corpus!("calls"), |device| {
        let output = device.upload(&[1u32, 1, 0]);
        let fault =
            device.launch("overflow", [1; 3], [1; 3], 0, &[&output]).expect_err("it never returns");
        assert!(matches!(fault.kind, FaultKind::StackOverflow { .. }), "{fault}");
    });
}

#[test]
fn switches_take_every_way() {
    at_each_level(corpus!("calls"), |device| {
        let input = device.upload(&(0..10).collect::<Vec<i32>>());
        let output = device.upload(&[0i32; 48]);
        device.launch("switches", [1; 3], [10, 1, 1], 0, &[&input, &output]).expect("no fault");
        let result = device.download::<i32>(output);
        assert_eq!(result[..10], [5, 8, 8, -3, 17, 5 ^ 0x55, 18, 128, 8, 9]);
        assert_eq!(result[40..42], [1, 2]);
    });
}

#[test]
fn local_arrays_are_indexed_at_run_time() {
    at_each_level(corpus!("calls"), |device| {
        let values: Vec<i32> = (0..16).map(|at| at * 5 + 3).collect();
        let (input, output) = (device.upload(&values), device.allocate(32 * 4));
        device.launch("local_array", [1; 3], [32, 1, 1], 0, &[&input, &output]).expect("no fault");
        for (thread, got) in device.download::<i32>(output).into_iter().enumerate() {
            let at = values[thread & 15] as usize & 15;
            let mut own: Vec<i32> =
                values.iter().map(|value| value * (thread as i32 + 1)).collect();
            own[at] += 1000;
            let expected: i32 = (0..16).map(|i| own[(i + at) & 15] * (i as i32 + 1)).sum();
            assert_eq!(got, expected);
        }
    });
}

/// Addresses that nothing is mapped at, and where the system maps next what takes one page: then
/// the rest of the process's new memory lies farther off than a call reaches.
struct FarPage {
    start: usize,
}

const PAGE: usize = 4096;
const FAR: usize = 8 << 30;

fn reserve(bytes: usize) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new addresses, which nobody uses.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED, "there are addresses");
    start.addr()
}

impl FarPage {
    fn new() -> FarPage {
        let start = reserve(FAR);
        // The system takes the highest gap in which there is room.
        while reserve(PAGE) > start {}
        let last = ptr::without_provenance_mut(start + FAR - PAGE);
        // SAFETY: it was just reserved, and nobody uses it.
        assert_eq!(unsafe { libc::munmap(last, PAGE) }, 0);
        FarPage { start }
    }
}

impl Drop for FarPage {
    fn drop(&mut self) {
        let start = ptr::without_provenance_mut(self.start);
        // SAFETY: the reserved addresses below the page, which nobody uses.
        unsafe { libc::munmap(start, FAR - PAGE) };
    }
}

#[test]
fn functions_find_each_other_wherever_there_is_memory_for_them() {
    let function = |index: usize| {
        format!(
            ".func (.param .b32 r) f{index}(.param .b32 a) {{ .reg .b32 %x;
            ld.param.b32 %x, [a]; mul.lo.u32 %x, %x, {}; st.param.b32 [r], %x; ret; }}\n",
            index + 2
        )
    };
    let call = |index: usize| {
        format!(
            "{{ .param .b32 r; .param .b32 a; st.param.b32 [a], %x;
            call (r), f{index}, (a); ld.param.b32 %x, [r]; }}\n"
        )
    };
    let kernel = |name: &str| {
        let calls: String = (0..4).map(call).collect();
        format!(
            ".entry {name}(.param .u64 out) {{ .reg .b32 %x; .reg .b64 %out;
            ld.param.u64 %out, [out]; mov.u32 %x, 3; {calls} st.global.u32 [%out], %x; ret; }}\n"
        )
    };
    let functions: String = (0..4).map(function).collect();
    let [near, far] = ["near", "far"].map(kernel);
    let source = format!(".version 8.0 .target sm_80 .address_size 64\n{functions}{near}{far}");
    at_each_level(&source, |device| {
        let out = device.allocate(4);
        // All that is made once for every kernel is there now.
        device.launch("near", [1; 3], [1; 3], 0, &[&out]).expect("no fault");
        let _page = FarPage::new();
        device.launch("far", [1; 3], [1; 3], 0, &[&out]).expect("no fault");
        assert_eq!(device.download::<u32>(out), [3 * 2 * 3 * 4 * 5]);
    });
}
