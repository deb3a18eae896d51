//! What kernels print, and when it is written.

use std::io::Write;

use crate::sim::{Gpu, NON_BLOCKING, end_after, function, launch, output_of_child};
use crate::{cuda, fails, ok};

/// `prints_literal` prints a word and its argument.
const PRINTING: &str = concat!(include_str!("../../../ptx/tests/ptx/faults.ptx"), "\0");

const UNCHECKED: &[(&str, &str)] = &[("CUDA_SIM_CHECK", "0")];

/// Has a kernel print in a stream, and sees it end without waiting for it.
fn print_unwaited(gpu: &Gpu, blocks: u32) -> cuda_sys::CUstream {
    let prints = function(gpu.load(PRINTING), c"prints_literal");
    let stream = gpu.stream(NON_BLOCKING);
    launch(prints, [blocks, 1], stream, &[]).ok().expect("it is enqueued");
    while cuda!(cuStreamQuery(stream)) == cuda_sys::CUresult::CUDA_ERROR_NOT_READY {
        std::thread::yield_now();
    }
    stream
}

/// How often the kernel's word is in a text.
fn words(text: &str) -> usize {
    text.matches("literal").count()
}

#[test]
fn a_program_that_holds_its_standard_output_can_wait_for_a_kernel_that_prints() {
    let output = output_of_child(UNCHECKED, || {
        end_after(60);
        let gpu = Gpu::take();
        let held = std::io::stdout().lock();
        let stream = print_unwaited(&gpu, 100);
        ok!(cuStreamSynchronize(stream));
        drop(held);
    });
    if let Some([text, _]) = output {
        assert_eq!(words(&text), 100, "{text}");
    }
}

#[test]
fn what_kernels_print_is_written_by_calls_that_synchronise() {
    let output = output_of_child(UNCHECKED, || {
        let gpu = Gpu::take();
        let say = |text: &str| writeln!(std::io::stdout(), "{text}").expect("it is open");
        let stream = print_unwaited(&gpu, 1);
        say("<stream>");
        ok!(cuStreamSynchronize(stream));
        say("<context>");
        print_unwaited(&gpu, 1);
        ok!(cuCtxSynchronize());
        say("<event>");
        let event = gpu.event(0);
        let stream = print_unwaited(&gpu, 1);
        ok!(cuEventRecord(event, stream));
        ok!(cuEventSynchronize(event));
        say("<copy>");
        print_unwaited(&gpu, 1);
        let (pointer, mut value) = (gpu.allocate(8), 0_u64);
        ok!(cuMemcpyDtoH_v2((&raw mut value).cast(), pointer, 8));
        say("<end>");
        print_unwaited(&gpu, 1);
        drop(gpu);
        say("<over>");
    });
    let Some([text, _]) = output else { return };
    let marks = ["<stream>", "<context>", "<event>", "<copy>", "<end>", "<over>"];
    for marks in marks.windows(2) {
        let part = text.split(marks[0]).nth(1).and_then(|rest| rest.split(marks[1]).next());
        assert_eq!(part.map(words), Some(1), "between {marks:?}: {text}");
    }
}

#[test]
fn what_nobody_waited_for_is_written_when_the_process_ends() {
    let output = output_of_child(UNCHECKED, || {
        let gpu = Gpu::take();
        print_unwaited(&gpu, 3);
        std::mem::forget(gpu);
    });
    if let Some([text, _]) = output {
        assert_eq!(words(&text), 3, "{text}");
    }
}

#[test]
fn a_device_that_is_lost_has_printed_what_came_before() {
    let output = output_of_child(UNCHECKED, || {
        let gpu = Gpu::take();
        let trapped = function(gpu.load(crate::sim::KERNELS), c"trapped");
        let stream = print_unwaited(&gpu, 2);
        launch(trapped, [1, 1], stream, &[]).ok().expect("it is enqueued");
        fails!(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(stream));
        std::mem::forget(gpu);
        // Only the call that fails can have written it.
        let text = if cuda!(cuCtxSynchronize()).ok().is_err() { "1 passed\n" } else { "" };
        // SAFETY: the text is as long as it says, and the call only reads it.
        unsafe { libc::write(1, text.as_ptr().cast(), text.len()) };
        // SAFETY: the process ends here and now, and its handlers do not run.
        unsafe { libc::_exit(0) };
    });
    if let Some([text, _]) = output {
        assert_eq!(words(&text), 2, "{text}");
    }
}
