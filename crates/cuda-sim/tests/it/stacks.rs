//! Stacks: kernels and the compiler need none of the calling thread's.

use std::ffi::CString;
use std::fmt::Write;
use std::ptr;
use std::thread;

use cuda_sys::{CUfunction, CUresult};

use crate::sim::{Gpu, NON_BLOCKING, download, function, in_child, launch, upload};
use crate::{cuda, ok};

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const OVERFLOW: CUresult = CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR;

/// A function that calls itself, with so many registers that live across the call, and the kernel
/// `descend(numbers, depth, out)`: numbers[0] + numbers[1] + .. at each of the depth + 1 levels.
fn recursive(registers: usize) -> CString {
    let mut text = String::from(
        ".version 7.0\n.target sm_70\n.address_size 64\n\
         .func (.param .b64 sum) level(.param .b64 numbers, .param .b64 depth)\n{\n\
         .reg .pred %p;\n.reg .b64 %a<8>;\n",
    );
    let mut line = |line: &str| writeln!(text, "{line}").expect("memory");
    line(&format!(".reg .b64 %r<{registers}>;"));
    line("ld.param.b64 %a0, [numbers];\nld.param.b64 %a1, [depth];\nmov.b64 %a3, 0;");
    for index in 0..registers {
        line(&format!("ld.global.b64 %r{index}, [%a0+{}];", 8 * index));
    }
    line("setp.eq.u64 %p, %a1, 0;\n@%p bra END;\nsub.u64 %a2, %a1, 1;\n{");
    line(".param .b64 one;\n.param .b64 two;\n.param .b64 out;");
    line("st.param.b64 [one], %a0;\nst.param.b64 [two], %a2;");
    line("call.uni (out), level, (one, two);\nld.param.b64 %a3, [out];\n}\nEND:");
    for index in 0..registers {
        line(&format!("add.u64 %a3, %a3, %r{index};"));
    }
    line("st.param.b64 [sum], %a3;\nret;\n}");
    line(
        ".visible .entry descend(.param .u64 numbers, .param .u64 depth, .param .u64 out)\n{\n\
         .reg .b64 %a<8>;\n\
         ld.param.b64 %a0, [numbers];\nld.param.b64 %a1, [depth];\nld.param.b64 %a2, [out];\n{\n\
         .param .b64 one;\n.param .b64 two;\n.param .b64 sum;\n\
         st.param.b64 [one], %a0;\nst.param.b64 [two], %a1;\n\
         call.uni (sum), level, (one, two);\nld.param.b64 %a3, [sum];\n}\n\
         st.global.b64 [%a2], %a3;\nret;\n}",
    );
    CString::new(text).expect("no NUL")
}

fn load(gpu: &Gpu, text: &CString) -> CUfunction {
    gpu.enter();
    let mut module = ptr::null_mut();
    ok!(cuModuleLoadData(&mut module, text.as_ptr().cast()));
    function(module, c"descend")
}

/// Launches blocks of that many threads, waits, and returns what that says and the sum.
fn descend(
    gpu: &Gpu,
    kernel: CUfunction,
    threads: u32,
    registers: usize,
    depth: u64,
) -> (CUresult, u64) {
    let numbers = gpu.allocate(8 * registers);
    let out = gpu.allocate(8);
    upload(numbers, &(0..registers as u64).collect::<Vec<u64>>());
    let stream = gpu.stream(NON_BLOCKING);
    assert_eq!(launch(kernel, [1, threads], stream, &[numbers, depth, out]), SUCCESS);
    let result = cuda!(cuStreamSynchronize(stream));
    (result, if result == SUCCESS { download::<u64, 1>(out)[0] } else { 0 })
}

/// Runs something on a thread with a small stack.
fn on_small_stack<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, body);
        thread.expect("a thread").join().expect("no panic")
    })
}

#[test]
fn large_frames_of_recursive_functions_need_no_stack_of_the_threads_that_run_them() {
    const REGISTERS: usize = 2000;
    const DEPTH: u64 = 200;
    for mode in ["lockstep", "threads"] {
        in_child(&[("CUDA_SIM_EXECUTION", mode)], || {
            let text = recursive(REGISTERS);
            let gpu = Gpu::take();
            let sum = (0..REGISTERS as u64).sum::<u64>() * (DEPTH + 1);
            for threads in [1, 32] {
                let found =
                    on_small_stack(|| descend(&gpu, load(&gpu, &text), threads, REGISTERS, DEPTH));
                assert_eq!(found, (SUCCESS, sum), "{threads} threads");
            }
        });
    }
}

#[test]
fn recursion_without_end_is_the_error_of_its_device_whatever_runs_out() {
    for check in ["0", "1"] {
        in_child(&[("CUDA_SIM_CHECK", check)], || {
            let gpus: [Gpu; 3] = Gpu::take_several();
            // The local memory, and the stack.
            for (gpu, registers) in gpus.iter().zip([2, 2000]) {
                let found = on_small_stack(|| {
                    let kernel = load(gpu, &recursive(registers));
                    descend(gpu, kernel, 1, registers, u64::MAX)
                });
                assert_eq!(found.0, OVERFLOW, "{registers} registers");
                let text = cuda_sim::control::last_fault(gpu.ordinal as usize).expect("a device");
                assert!(text.expect("it is lost").contains("too deeply"));
            }
            let healthy = &gpus[2];
            let kernel = load(healthy, &recursive(2));
            assert_eq!(descend(healthy, kernel, 32, 2, 3), (SUCCESS, 4));
        });
    }
}
