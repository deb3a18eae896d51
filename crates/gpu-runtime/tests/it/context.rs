//! The execution context: what a thread inherits.

use gpu_runtime::{Device, DeviceBuffer, ExecutionContext, Order, Stream, with_order};

use crate::fixture::{Gate, device, device_or_skip, elementwise, fill, pinned, zeros};

#[test]
fn a_thread_inherits_device_and_streams() {
    let Some(one) = device_or_skip(1, "a_thread_inherits_device_and_streams") else { return };
    let here = Stream::new(device()).expect("a stream");
    let there = Stream::new(one).expect("a stream");
    let (_here, _there) = (here.enter().expect("it works"), there.enter().expect("it works"));
    let context = ExecutionContext::capture();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            {
                let _inherited = context.enter();
                assert_eq!(Device::current().expect("a driver"), one);
                assert_eq!(one.current_stream().expect("a stream"), there);
                assert_eq!(device().current_stream().expect("a stream"), here);
            }
            assert_eq!(Device::current().expect("a driver"), device());
            assert!(one.current_stream().expect("a stream").is_default());
        });
    });
}

#[test]
fn a_thread_inherits_manual_order() {
    let function = elementwise(device(), "fill");
    let mut buffer: DeviceBuffer<u32> = zeros(device(), 4);
    let (writer, reader) =
        (Stream::new(device()).expect("a stream"), Stream::new(device()).expect("a stream"));
    let into = pinned(4);
    let gate = Gate::hold(&writer);
    fill(&function, &writer, 7, &mut buffer).expect("the launch is taken");
    let context = with_order(Order::Manual, ExecutionContext::capture);
    let arrived = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _inherited = context.enter();
            let pending = reader.copy_dtoh_pinned(&buffer, into).expect("the copy is taken");
            pending.wait().expect("the device works")
        });
        thread.join().expect("no panic")
    });
    // Nobody ordered the read after the write, which is still held back.
    assert_eq!(*arrived, [0; 4]);
    gate.open();
}
