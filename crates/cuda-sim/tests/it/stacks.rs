//! Stacks: kernels and the compiler need none of the calling thread's.

use std::ffi::CString;
use std::fmt::Write;
use std::ptr;
use std::thread;

use cuda_sys::{CUfunction, CUresult};

use crate::sim::{Gpu, NON_BLOCKING, download, function, in_child, launch};
use crate::{cuda, ok};

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const SEED: u64 = 3;
const OVERFLOW: CUresult = CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR;

/// A function that calls itself, with so many registers that live across the call, and the kernel
/// `descend(seed, depth, out)`: [`descended`].
fn recursive(registers: usize) -> CString {
    let mut text = String::from(
        ".version 7.0\n.target sm_70\n.address_size 64\n\
         .func (.param .b64 result) level(.param .b64 seed, .param .b64 depth)\n{\n\
         .reg .pred %p;\n.reg .b64 %a<8>;\n",
    );
    let mut line = |line: &str| writeln!(text, "{line}").expect("memory");
    line(&format!(".reg .b64 %r<{registers}>;"));
    line("ld.param.b64 %r0, [seed];\nld.param.b64 %a1, [depth];\nmov.b64 %a3, 0;");
    line("mov.b64 %a4, %r0;");
    for index in 1..registers {
        let before = index - 1;
        line(&format!("mad.lo.u64 %r{index}, %r{before}, %r{before}, {index};"));
        line(&format!("add.u64 %a4, %a4, %r{index};"));
    }
    let all: String = (0..registers).map(|at| format!("xor.b64 %a3, %a3, %r{at};\n")).collect();
    let end = format!("{all}st.param.b64 [result], %a3;\nret;");
    line("setp.eq.u64 %p, %a1, 0;\n@%p bra LAST;\nsub.u64 %a2, %a1, 1;\n{");
    line(".param .b64 one;\n.param .b64 two;\n.param .b64 out;");
    line("st.param.b64 [one], %a4;\nst.param.b64 [two], %a2;");
    line("call.uni (out), level, (one, two);\nld.param.b64 %a3, [out];\n}");
    line(&format!("{end}\nLAST:\n{end}\n}}"));
    line(
        ".visible .entry descend(.param .u64 seed, .param .u64 depth, .param .u64 out)\n{\n\
         .reg .b64 %a<8>;\n\
         ld.param.b64 %a0, [seed];\nld.param.b64 %a1, [depth];\nld.param.b64 %a2, [out];\n{\n\
         .param .b64 one;\n.param .b64 two;\n.param .b64 result;\n\
         st.param.b64 [one], %a0;\nst.param.b64 [two], %a1;\n\
         call.uni (result), level, (one, two);\nld.param.b64 %a3, [result];\n}\n\
         st.global.b64 [%a2], %a3;\nret;\n}",
    );
    CString::new(text).expect("no NUL")
}

/// What [`recursive`] computes: at each level numbers made of the seed, whose sum is the seed of the
/// next level, and the exclusive or of them all.
fn descended(registers: usize, seed: u64, depth: u64) -> u64 {
    let (mut number, mut sum, mut all) = (seed, seed, seed);
    for index in 1..registers as u64 {
        number = number.wrapping_mul(number).wrapping_add(index);
        sum = sum.wrapping_add(number);
        all ^= number;
    }
    all ^ if depth == 0 { 0 } else { descended(registers, sum, depth - 1) }
}

fn load(gpu: &Gpu, text: &CString) -> CUfunction {
    gpu.enter();
    let mut module = ptr::null_mut();
    ok!(cuModuleLoadData(&mut module, text.as_ptr().cast()));
    function(module, c"descend")
}

/// Launches a block of that many threads, waits, and returns what that says and the result.
fn descend(gpu: &Gpu, text: &CString, threads: u32, depth: u64) -> (CUresult, u64) {
    let kernel = load(gpu, text);
    let out = gpu.allocate(8);
    let stream = gpu.stream(NON_BLOCKING);
    assert_eq!(launch(kernel, [1, threads], stream, &[SEED, depth, out]), SUCCESS);
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
            let expected = (SUCCESS, descended(REGISTERS, SEED, DEPTH));
            let found = on_small_stack(|| descend(&gpu, &text, 32, DEPTH));
            assert_eq!(found, expected);
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
                let text = recursive(registers);
                let found = on_small_stack(|| descend(gpu, &text, 1, u64::MAX));
                assert_eq!(found.0, OVERFLOW, "{registers} registers");
                let text = cuda_sim::control::last_fault(gpu.ordinal as usize).expect("a device");
                assert!(text.expect("it is lost").contains("too deeply"));
            }
            let found = descend(&gpus[2], &recursive(2), 32, 3);
            assert_eq!(found, (SUCCESS, descended(2, SEED, 3)));
        });
    }
}
