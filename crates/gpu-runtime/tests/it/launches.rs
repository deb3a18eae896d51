//! Modules and launches: arguments, shapes, what is refused.

use gpu_runtime::{
    ByValue, Device, DeviceBuffer, DevicePtr, Error, Function, KernelArguments, LaunchConfig,
    LaunchProblem, Stream,
};
use test_support::isolate;

use crate::fixture::{device, device_or_skip, elementwise, read, zeros};

const ONE_THREAD: LaunchConfig = LaunchConfig::new([1, 1, 1], [1, 1, 1]);

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

fn arguments(name: &str) -> Function {
    let module = device().load(include_str!("../ptx/arguments.ptx")).expect("the module loads");
    module.function(name).expect("the kernel exists")
}

#[test]
fn arguments_of_every_kind_arrive() {
    let stream = stream();
    let mut out = DeviceBuffer::<f64>::zeroed(&stream, 1).expect("memory");
    let args = (200u8, -3i16, 70_000u32, -(1i64 << 40), 0.5f32, 0.25f64, 1usize << 41, &mut out);
    // SAFETY: the kernel takes these arguments and writes one f64.
    unsafe { arguments("eight").launch(&stream, ONE_THREAD, args) }.expect("the launch is taken");
    let sum = 200.0 - 3.0 + 70_000.0 - (1u64 << 40) as f64 + 0.75 + (1u64 << 41) as f64;
    assert_eq!(stream.copy_dtoh(&out).expect("a copy").wait().expect("it works"), [sum]);
}

#[test]
fn a_struct_is_passed_by_value() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Parameters {
        out: DevicePtr,
        a: i64,
        b: i32,
        pad: i32,
    }
    let stream = stream();
    let out = DeviceBuffer::<i64>::zeroed(&stream, 1).expect("memory");
    let parameters = Parameters { out: out.ptr(), a: 1 << 40, b: -5, pad: 0 };
    // SAFETY: the kernel takes this struct and writes one i64; the buffer is read after it.
    unsafe { arguments("by_value").launch(&stream, ONE_THREAD, (ByValue(&parameters),)) }
        .expect("the launch is taken");
    stream.synchronize().expect("the device works");
    assert_eq!(stream.copy_dtoh(&out).expect("a copy").wait().expect("it works"), [(1 << 40) - 5]);
}

#[test]
fn a_kernel_without_arguments_is_launched_with_an_empty_tuple() {
    let stream = stream();
    // SAFETY: the kernel does nothing.
    unsafe { elementwise(device(), "nothing").launch(&stream, ONE_THREAD, ()) }
        .expect("the launch is taken");
    stream.synchronize().expect("the device works");
}

#[test]
fn a_launch_reads_and_writes_what_it_is_given() {
    let stream = stream();
    let add_to = elementwise(device(), "add_to");
    let n = 1000;
    let ones = stream.copy_htod(&vec![1u32; n]).expect("the copy is taken");
    let mut sum = stream.copy_htod(&(0..n as u32).collect::<Vec<_>>()).expect("the copy is taken");
    // SAFETY: the kernel reads and writes n elements.
    unsafe { add_to.launch(&stream, LaunchConfig::for_elements(n), (n as u64, &ones, &mut sum)) }
        .expect("the launch is taken");
    assert_eq!(read(&sum), (1..=n as u32).collect::<Vec<_>>());
}

#[test]
fn a_launch_that_does_not_fit_is_refused_with_the_reason() {
    let stream = stream();
    let nothing = elementwise(device(), "nothing");
    let problem = |config: LaunchConfig| {
        // SAFETY: the kernel does nothing.
        match unsafe { nothing.launch(&stream, config, ()) } {
            Err(Error::InvalidLaunch { function, problem }) if &*function == "nothing" => problem,
            other => panic!("{other:?}"),
        }
    };
    let max = nothing.max_threads_per_block();
    assert!(matches!(
        problem(LaunchConfig::new([0, 1, 1], [1, 1, 1])),
        LaunchProblem::Empty { .. }
    ));
    assert!(matches!(
        problem(LaunchConfig::new([1, 1, 1], [1, 0, 1])),
        LaunchProblem::Empty { .. }
    ));
    assert!(matches!(
        problem(LaunchConfig::new([1, 70_000, 1], [1, 1, 1])),
        LaunchProblem::GridTooLarge { .. }
    ));
    assert!(matches!(
        problem(LaunchConfig::new([1, 1, 1], [1, 1, 65])),
        LaunchProblem::BlockTooLarge { .. }
    ));
    assert_eq!(
        problem(LaunchConfig::new([1, 1, 1], [max, 2, 1])),
        LaunchProblem::TooManyThreads { block: [max, 2, 1], threads: u64::from(max) * 2, max }
    );
    assert!(matches!(
        problem(ONE_THREAD.with_shared_bytes(48 * 1024 + 1)),
        LaunchProblem::TooMuchSharedMemory { .. }
    ));
    assert_eq!(stream.sequence(), 0);
}

#[test]
fn a_kernel_may_be_allowed_more_shared_memory_but_not_more_than_there_is() {
    let stream = stream();
    let nothing = elementwise(device(), "nothing");
    let most = device().properties().expect("properties").max_shared_bytes_per_block;
    nothing.allow_shared_bytes(most).expect("the device has that much");
    // SAFETY: the kernel does nothing.
    unsafe { nothing.launch(&stream, ONE_THREAD.with_shared_bytes(most), ()) }
        .expect("the launch is taken");
    stream.synchronize().expect("the device works");
    let error = nothing.allow_shared_bytes(most + 1).expect_err("there is not that much");
    assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
}

#[test]
fn a_function_runs_on_its_modules_device_only() {
    let test = "a_function_runs_on_its_modules_device_only";
    let Some(one) = device_or_skip(1, test) else { return };
    let nothing = elementwise(device(), "nothing");
    let there = Stream::new(one).expect("a stream");
    // SAFETY: the kernel does nothing.
    let error = unsafe { nothing.launch(&there, ONE_THREAD, ()) }.expect_err("another device");
    assert!(error.to_string().contains("cuda:0"), "{error}");
    assert!(error.to_string().contains("cuda:1"), "{error}");
}

#[test]
fn work_runs_on_its_own_device_whatever_is_current() {
    let Some(one) = device_or_skip(1, "work_runs_on_its_own_device_whatever_is_current") else {
        return;
    };
    let increment = elementwise(one, "increment");
    let stream = Stream::new(one).expect("a stream");
    let mut buffer = zeros(one, 4);
    let _elsewhere = device().enter().expect("it works");
    // SAFETY: the kernel writes 4 elements.
    unsafe { increment.launch(&stream, LaunchConfig::for_elements(4), (4u64, &mut buffer)) }
        .expect("the launch is taken");
    assert_eq!(read(&buffer), [1; 4]);
    assert_eq!(Device::current().expect("a driver"), device());
}

#[test]
fn a_kernel_that_a_module_lacks_is_an_error_that_names_it() {
    let module = device().load(include_str!("../ptx/arguments.ptx")).expect("the module loads");
    for name in ["sevens", "", "ei\0ght"] {
        let error = module.function(name).expect_err("there is none");
        assert!(matches!(&error, Error::FunctionNotFound { name: of } if of == name), "{error}");
    }
}

#[test]
fn a_module_that_does_not_compile_is_an_error_with_what_the_compiler_says() {
    let broken = include_str!("../ptx/arguments.ptx").replace("add.s64", "add.s65");
    let error = device().load(broken).expect_err("there is no such instruction");
    let Error::ModuleLoad { device: on, log, .. } = &error else { panic!("{error}") };
    assert_eq!(*on, device());
    assert!(log.contains("s65"), "{error}");
}

#[test]
fn what_is_no_module_at_all_is_an_error() {
    for image in [&b""[..], b"\0", b"hello", b"\x7fELF nothing of the kind", &[0xff; 100]] {
        let error = device().load(image).expect_err("it is no module");
        assert!(matches!(error, Error::ModuleLoad { .. }), "{image:?}: {error}");
    }
}

#[test]
fn a_reference_to_a_fat_binary_is_no_module() {
    // Whoever follows the address ends the process.
    isolate(|| {
        let mut image = [0u8; 24];
        image[..4].copy_from_slice(&0x4662_43b1u32.to_le_bytes());
        image[4] = 1;
        image[8..16].copy_from_slice(&0xdead_beef_0000u64.to_le_bytes());
        for length in [4, 8, 12, 24] {
            let error = device().load(&image[..length]).expect_err("it is no module");
            assert!(matches!(error, Error::ModuleLoad { .. }), "{error}");
        }
    })
    .run();
}

#[test]
fn machine_code_is_loaded_only_by_who_vouches_for_it() {
    let both = include_bytes!("../../../cuda-sim/tests/fatbin/both.fatbin");
    let error = device().load(both).expect_err("there is machine code in it");
    assert!(error.to_string().contains("load_binary"), "{error}");
    // SAFETY: it is as nvcc has made it.
    unsafe { device().load_binary(both) }.expect("there is PTX in it too");
    for only_ptx in [
        &include_bytes!("../../../cuda-sim/tests/fatbin/none.fatbin")[..],
        include_bytes!("../../../cuda-sim/tests/fatbin/speed.fatbin"),
        include_bytes!("../../../cuda-sim/tests/fatbin/balance.fatbin"),
    ] {
        device().load(only_ptx).expect("every entry lies where it says");
        device().load(&only_ptx[..only_ptx.len() - 1]).expect_err("it is cut off");
    }
}

/// What is wrong with the arguments of a launch that must not be made.
fn misgiven<A: KernelArguments>(name: &str, args: A) -> (LaunchProblem, String) {
    // SAFETY: the launch is refused, since the kernel takes other arguments.
    let refused = unsafe { arguments(name).launch(&stream(), ONE_THREAD, args) };
    let error = refused.expect_err("the sizes are others");
    let text = error.to_string();
    match error {
        Error::InvalidLaunch { problem, .. } => (problem, text),
        other => panic!("{other}"),
    }
}

#[test]
fn a_launch_with_other_arguments_than_the_kernels_is_refused_by_their_sizes() {
    // Whoever reads arguments that are not there ends the process.
    isolate(|| {
        let (problem, text) =
            misgiven("eight", (200u8, -3i16, 7u32, 1i64, 0.5f32, 0.25f64, 1usize));
        let takes = vec![1, 2, 4, 8, 4, 8, 8, 8];
        assert_eq!(problem, LaunchProblem::Arguments { takes, given: vec![1, 2, 4, 8, 4, 8, 8] });
        for part in ["`eight`", "8 arguments of 1, 2, 4", "but was given 7 arguments"] {
            assert!(text.contains(part), "{text}");
        }
        let (problem, text) = misgiven("by_value", (ByValue(&[0u64; 2]),));
        assert_eq!(problem, LaunchProblem::Arguments { takes: vec![24], given: vec![16] });
        assert!(text.contains("1 argument of 24 bytes"), "{text}");
        let (_, text) = misgiven("by_value", ());
        assert!(text.contains("but was given no arguments"), "{text}");
        assert_eq!(arguments("by_value").parameters(), Some(&[24][..]));
    })
    .run();
}
