//! Kernels that are stopped, and what is said about it.

use super::harness::{Device, at_each_level, corpus};
use crate::abi::AccessKind;
use crate::exec::{Fault, FaultKind};

fn fault(
    device: &Device,
    kernel: &str,
    threads: u32,
    arguments: &[&dyn super::harness::Argument],
) -> Fault {
    device.launch(kernel, [1; 3], [threads, 1, 1], 0, arguments).expect_err("the kernel fails")
}

#[test]
fn an_assertion_names_its_place() {
    at_each_level(corpus!("faults"), |device| {
        device.launch("asserts", [2, 1, 1], [64, 1, 1], 0, &[&64i32]).expect("nothing fails");
        let fault =
            device.launch("asserts", [2, 1, 1], [8, 8, 1], 0, &[&3i32]).expect_err("it asserts");
        assert_eq!((fault.block, fault.thread), ([0, 0, 0], [3, 0, 0]));
        let FaultKind::Assert(assertion) = fault.kind else {
            panic!("{fault}");
        };
        assert_eq!(
            assertion.to_string(),
            "faults.cu:5: void asserts(int): assertion `threadIdx.x < limit` failed"
        );
    });
}

#[test]
fn a_trap_names_its_line() {
    at_each_level(corpus!("faults"), |device| {
        let fault = fault(device, "traps", 32, &[&17i32]);
        assert_eq!((fault.kind, fault.thread), (FaultKind::Trap, [17, 0, 0]));
        let line = corpus!("faults").lines().nth(fault.line as usize - 1);
        assert_eq!(line.map(str::trim), Some("trap;"));
    });
}

#[test]
fn memory_that_is_not_the_devices_is_out_of_reach() {
    at_each_level(corpus!("faults"), |device| {
        let place = device.allocate(16);
        let kind = fault(device, "store", 1, &[&0u64, &3i32]).kind;
        assert_eq!(
            kind,
            FaultKind::IllegalAddress { address: 12, bytes: 4, access: AccessKind::Write }
        );
        let mut own = Box::new(5i32);
        let address = &raw mut *own as u64;
        let kind = fault(device, "store", 1, &[&address, &0i32]).kind;
        assert_eq!(
            kind,
            FaultKind::IllegalAddress { address, bytes: 4, access: AccessKind::Write }
        );
        assert_eq!(*own, 5);
        let address = place.address + (1 << 20);
        let kind = fault(device, "add", 1, &[&address]).kind;
        assert_eq!(
            kind,
            FaultKind::IllegalAddress { address, bytes: 4, access: AccessKind::Atomic }
        );
    });
}

#[test]
fn accesses_are_aligned() {
    at_each_level(corpus!("faults"), |device| {
        let place = device.allocate(64);
        let address = place.address + 4;
        let kind = fault(device, "load_wide", 1, &[&address, &place]).kind;
        assert_eq!(
            kind,
            FaultKind::MisalignedAddress { address, bytes: 8, access: AccessKind::Read }
        );
    });
}

#[test]
fn shared_and_local_memory_have_ends() {
    at_each_level(corpus!("faults"), |device| {
        device.launch("shared_store", [1; 3], [1; 3], 0, &[&31i32]).expect("the last element");
        for index in [32, -1, 1 << 28] {
            let kind = fault(device, "shared_store", 1, &[&index]).kind;
            assert!(matches!(
                kind,
                FaultKind::IllegalAddress { bytes: 4, access: AccessKind::Write, .. }
            ));
        }
        let output = device.upload(&[0i32, 7]);
        device
            .launch("local_store", [1; 3], [1; 3], 0, &[&7i32, &output])
            .expect("the last element");
        assert_eq!(device.download::<i32>(output)[0], 5);
        for index in [8, -1, 1 << 20] {
            let kind = fault(device, "local_store", 1, &[&index, &output]).kind;
            assert!(matches!(
                kind,
                FaultKind::IllegalAddress { bytes: 4, access: AccessKind::Write, .. }
            ));
        }
    });
}

#[test]
fn threads_that_wait_for_each_other_in_vain_are_stopped() {
    at_each_level(corpus!("faults"), |device| {
        assert_eq!(
            fault(device, "deadlock", 64, &[]).kind,
            FaultKind::BarrierDivergence { waiting: 64 }
        );
    });
}

#[test]
fn kernels_print() {
    at_each_level(corpus!("faults"), |device| {
        let name = device.upload(b"x\0");
        device.launch("prints", [1; 3], [2, 1, 1], 0, &[&name, &2.345_67f64]).expect("no fault");
        device.launch("prints_literal", [1; 3], [1; 3], 0, &[]).expect("no fault");
        assert_eq!(device.printed(), "thread 1 of 2: x = 2.346 x %\nliteral -5\n");
        let kind = fault(device, "prints", 2, &[&8u64, &1f64]).kind;
        assert_eq!(
            kind,
            FaultKind::IllegalAddress { address: 8, bytes: 1, access: AccessKind::Read }
        );
    });
}
