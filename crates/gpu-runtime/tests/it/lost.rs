//! Devices that stop working: the errors afterwards, and the launch that they name.

use gpu_runtime::{
    Device, DeviceAllocation, DeviceBuffer, Error, Function, LaunchConfig, LaunchRecord, Stream,
    Work, take_drop_errors,
};
use test_support::isolate;

use crate::fixture::{Gate, device};

const ONE_THREAD: LaunchConfig = LaunchConfig::new([1, 1, 1], [1, 1, 1]);

fn faults(device: Device, name: &str) -> Function {
    let module = device.load(include_str!("../ptx/faults.ptx")).expect("the module loads");
    module.function(name).expect("the kernel exists")
}

fn launch(function: &Function, stream: &Stream) -> Result<(), Error> {
    // SAFETY: the kernels take nothing. What they do wrong, the driver contains.
    unsafe { function.launch(stream, ONE_THREAD, ()) }
}

fn suspect(error: &Error) -> &LaunchRecord {
    let Error::DeviceLost { launch: Some(launch), .. } = error else { panic!("{error:?}") };
    launch
}

fn is_kernel(launch: &LaunchRecord, kernel: &str) -> bool {
    matches!(&launch.work, Work::Kernel { name } if &**name == kernel)
}

#[test]
fn a_late_error_names_the_launch() {
    isolate(|| {
        let stream = Stream::new(device()).expect("a stream");
        for _ in 0..5 {
            launch(&faults(device(), "nothing"), &stream).expect("the launch is taken");
        }
        stream.synchronize().expect("nothing is wrong yet");
        launch(&faults(device(), "write_nowhere"), &stream).expect("the launch is taken");
        let error = stream.synchronize().expect_err("the kernel wrote nowhere");
        let launch = suspect(&error);
        assert!(is_kernel(launch, "write_nowhere"), "{error}");
        assert_eq!((launch.stream, launch.sequence), (stream.id(), 6));
        assert!(error.to_string().contains("write_nowhere"), "{error}");
    })
    .run();
}

#[test]
fn all_launches_that_may_have_caused_a_late_error_are_named() {
    isolate(|| {
        let (stream, other) =
            (Stream::new(device()).expect("a stream"), Stream::new(device()).expect("a stream"));
        let (nothing, write_nowhere) =
            (faults(device(), "nothing"), faults(device(), "write_nowhere"));
        let gate = Gate::hold(&stream);
        for function in [&nothing, &write_nowhere, &write_nowhere] {
            launch(function, &stream).expect("the launch is taken");
        }
        launch(&nothing, &other).expect("the launch is taken");
        gate.open();
        let error = stream.synchronize().expect_err("the kernel wrote nowhere");
        let Error::DeviceLost { lost, .. } = &error else { panic!("{error:?}") };
        assert!(lost.suspects.iter().any(|launch| is_kernel(launch, "write_nowhere")), "{error}");
        // The stream that the failed call was about comes first.
        assert_eq!(lost.suspects[0].stream, stream.id());
        assert!(error.to_string().contains("CUDA_LAUNCH_BLOCKING=1"), "{error}");
    })
    .run();
}

#[test]
fn with_launch_blocking_the_error_appears_at_the_launch() {
    isolate(|| {
        let stream = Stream::new(device()).expect("a stream");
        launch(&faults(device(), "nothing"), &stream).expect("nothing is wrong yet");
        assert!(stream.query().expect("the launch was waited for"));
        let error = launch(&faults(device(), "write_nowhere"), &stream).expect_err("it fails here");
        let Error::DeviceLost { lost, .. } = &error else { panic!("{error:?}") };
        assert_eq!(lost.suspects.len(), 1, "{error}");
        assert!(is_kernel(&lost.suspects[0], "write_nowhere"), "{error}");
    })
    .env("CUDA_LAUNCH_BLOCKING", "1")
    .run();
}

#[test]
fn every_call_after_it_says_that_the_device_is_lost_and_by_which_launch() {
    isolate(|| {
        let stream = Stream::new(device()).expect("a stream");
        let buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).expect("memory");
        let event = stream.record_event().expect("the event is recorded");
        stream.synchronize().expect("nothing is wrong yet");
        let nothing = faults(device(), "nothing");
        launch(&faults(device(), "write_nowhere"), &stream).expect("the launch is taken");
        stream.synchronize().expect_err("the kernel wrote nowhere");

        let calls: [(&str, Option<Error>); 10] = [
            ("synchronize", device().synchronize().err()),
            ("query", stream.query().err()),
            ("launch", launch(&nothing, &stream).err()),
            ("load", device().load(include_str!("../ptx/faults.ptx")).err()),
            ("copy_htod", stream.copy_htod(&[1u32]).err()),
            ("copy_dtoh", stream.copy_dtoh(&buffer).err()),
            ("allocate", DeviceAllocation::new(device(), 4).err()),
            ("new stream", Stream::new(device()).err()),
            ("event", event.record(&stream).err()),
            ("enter", device().enter().err()),
        ];
        for (call, error) in calls {
            let error = error.unwrap_or_else(|| panic!("{call} works on a lost device"));
            assert!(is_kernel(suspect(&error), "write_nowhere"), "{call}: {error}");
        }
        // Destructors succeed.
        drop((buffer, event, nothing, stream));
        let errors = take_drop_errors();
        assert!(errors.is_empty(), "{errors:?}");
    })
    .run();
}

#[test]
fn other_devices_go_on() {
    isolate(|| {
        let Ok(one) = Device::get(1) else {
            return test_support::skipped("other_devices_go_on", "there is one device");
        };
        let (here, there) =
            (Stream::new(device()).expect("a stream"), Stream::new(one).expect("a stream"));
        launch(&faults(device(), "write_nowhere"), &here).expect("the launch is taken");
        here.synchronize().expect_err("the kernel wrote nowhere");
        let buffer = there.copy_htod(&[1u32, 2, 3]).expect("the other device works");
        assert_eq!(
            there.copy_dtoh(&buffer).expect("it works").wait().expect("it works"),
            [1, 2, 3]
        );
    })
    .env("GPU_DRIVER", "software:2")
    .run();
}

#[test]
fn the_program_ends_in_peace_with_a_lost_device() {
    isolate(|| {
        let stream = Stream::new(device()).expect("a stream");
        let buffer = DeviceBuffer::<u32>::zeroed(&stream, 4).expect("memory");
        launch(&faults(device(), "write_nowhere"), &stream).expect("the launch is taken");
        let pending = stream.copy_dtoh(&buffer);
        drop(buffer);
        drop(pending);
    })
    .run();
}
