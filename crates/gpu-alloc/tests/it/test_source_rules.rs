//! The adaptors pass virtual memory on, and the model of a device knows the driver's rules.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gpu_alloc::policy::{Address, Limit, Log, MemorySource, SourceCall, SourceError};

use crate::device_model::{AddressOrder, DeviceModel, PAGE};
use crate::test_source::{Fault, TestSource};

/// Two pieces, of one page and of two, mapped side by side in a reservation of eight pages.
fn mapped() -> (DeviceModel, Address) {
    let mut device = DeviceModel::new(4 * PAGE, AddressOrder::Lowest);
    let memory = device.virtual_memory().expect("it has some");
    let base = memory.reserve(8 * PAGE).expect("addresses abound");
    for (page, pages) in [(0, 1), (1, 2)] {
        let piece = memory.create(pages * PAGE).expect("there is room");
        let at = Address(base.0 + page * PAGE);
        memory.map(at, piece, pages * PAGE).expect("it can be mapped");
    }
    memory.set_access(base, 3 * PAGE).expect("it is mapped");
    (device, base)
}

fn breaks_a_rule(act: impl FnOnce(&mut DeviceModel, Address)) -> bool {
    let (mut device, base) = mapped();
    catch_unwind(AssertUnwindSafe(|| act(&mut device, base))).is_err()
}

fn page(base: Address, page: u64) -> Address {
    Address(base.0 + page * PAGE)
}

#[test]
fn a_mapping_goes_as_a_whole() {
    let unmap = |first, pages| {
        breaks_a_rule(move |device, base| {
            device.virtual_memory().expect("it has some").unmap(page(base, first), pages * PAGE);
        })
    };
    assert!(!unmap(0, 1) && !unmap(1, 2) && !unmap(0, 3));
    assert!(unmap(0, 2) && unmap(1, 1) && unmap(2, 1) && unmap(3, 1) && unmap(1, 3));
}

#[test]
fn nothing_is_mapped_over_another_mapping_or_outside_a_reservation() {
    let map = |first, pages| {
        breaks_a_rule(move |device, base| {
            let memory = device.virtual_memory().expect("it has some");
            let piece = memory.create(PAGE).expect("there is room");
            memory.map(page(base, first), piece, pages * PAGE).expect("refusals are panics");
        })
    };
    assert!(!map(3, 1) && !map(7, 1));
    assert!(map(0, 1) && map(2, 1) && map(8, 1));
    assert!(map(3, 2), "a mapping shows a whole piece");
}

#[test]
fn a_reservation_ends_empty() {
    let (mut device, base) = mapped();
    let unreserve = |device: &mut DeviceModel| {
        device.virtual_memory().expect("it has some").unreserve(base, 8 * PAGE);
    };
    assert!(breaks_a_rule(|device, _| unreserve(device)));
    device.virtual_memory().expect("it has some").unmap(base, 3 * PAGE);
    unreserve(&mut device);
}

#[test]
fn memory_is_usable_once_access_is_set_and_as_long_as_it_is_mapped() {
    let (mut device, base) = mapped();
    assert!(device.is_usable(base, 3 * PAGE) && device.is_usable(Address(base.0 + 512), PAGE));
    assert!(!device.is_usable(base, 4 * PAGE), "the fourth page is reserved only");
    let memory = device.virtual_memory().expect("it has some");
    let piece = memory.create(PAGE).expect("there is room");
    memory.map(page(base, 3), piece, PAGE).expect("nothing is there");
    assert!(!device.is_usable(base, 4 * PAGE), "access to the fourth page is not set");
    device.virtual_memory().expect("it has some").unmap(base, PAGE);
    assert!(!device.is_usable(base, PAGE) && device.is_usable(page(base, 1), 2 * PAGE));
}

#[test]
fn a_piece_is_free_once_nobody_holds_it_and_nothing_maps_it() {
    let mut device = DeviceModel::new(PAGE, AddressOrder::Rising);
    let memory = device.virtual_memory().expect("it has some");
    let base = memory.reserve(2 * PAGE).expect("addresses abound");
    let piece = memory.create(PAGE).expect("there is room");
    for at in [base, page(base, 1)] {
        memory.map(at, piece, PAGE).expect("a piece may be mapped twice");
    }
    memory.destroy(piece, PAGE);
    memory.unmap(base, PAGE);
    assert_eq!(memory.create(PAGE), Err(SourceError::Exhausted));
    memory.unmap(page(base, 1), PAGE);
    assert!(memory.create(PAGE).is_ok());
}

#[test]
fn a_limit_counts_physical_memory_and_no_addresses() {
    let mut source = Limit::new(TestSource::new(1 << 30), Some(3 * PAGE));
    let memory = source.virtual_memory().expect("the source inside has some");
    assert_eq!(memory.page_bytes(), PAGE);
    let base = memory.reserve(100 * PAGE).expect("addresses abound");
    let piece = memory.create(2 * PAGE).expect("there is room");
    memory.map(base, piece, 2 * PAGE).expect("nothing is there");
    let full = Err(SourceError::LimitReached { limit: 3 * PAGE });
    assert_eq!(memory.create(2 * PAGE), full);
    memory.unmap(base, 2 * PAGE);
    memory.destroy(piece, 2 * PAGE);
    assert!(memory.create(2 * PAGE).is_ok());
    assert_eq!(source.held(), 2 * PAGE);
    assert!(source.allocate(2 * PAGE).is_err(), "plain segments count to the same limit");
}

#[test]
fn a_log_has_every_call_and_its_outcome() {
    let mut source = Log::new(TestSource::new(PAGE));
    let memory = source.virtual_memory().expect("the source inside has some");
    let address = memory.reserve(4 * PAGE).expect("addresses abound");
    let physical = memory.create(PAGE).expect("there is room");
    assert!(memory.create(2 * PAGE).is_err());
    memory.map(address, physical, PAGE).expect("nothing is there");
    memory.set_access(address, PAGE).expect("it is mapped");
    memory.unmap(address, PAGE);
    let fail = |source: &mut Log<TestSource>| source.source_mut().fail(0, Fault::Broken);
    fail(&mut source);
    let memory = source.virtual_memory().expect("as before");
    assert!(memory.map(address, physical, PAGE).is_err());
    memory.destroy(physical, PAGE);
    memory.unreserve(address, 4 * PAGE);
    fail(&mut source);
    assert!(source.virtual_memory().expect("as before").reserve(PAGE).is_err());
    let bytes = PAGE;
    let expected = [
        SourceCall::Reserved { address, bytes: 4 * PAGE },
        SourceCall::Created { physical, bytes },
        SourceCall::CreateRefused { bytes: 2 * PAGE },
        SourceCall::Mapped { address, physical, bytes },
        SourceCall::AccessSet { address, bytes },
        SourceCall::Unmapped { address, bytes },
        SourceCall::MapRefused { address, physical },
        SourceCall::Destroyed { physical, bytes },
        SourceCall::Unreserved { address, bytes: 4 * PAGE },
        SourceCall::ReserveRefused { bytes },
    ];
    assert_eq!(source.calls(), expected);
    assert!(source.source().device().is_untouched());
}

#[test]
fn adaptors_have_virtual_memory_only_where_the_source_has_some() {
    let plain = TestSource::without_virtual_memory(1 << 30);
    assert!(Log::new(Limit::new(plain, None)).virtual_memory().is_none());
    assert!(Log::new(Limit::new(TestSource::new(1 << 30), None)).virtual_memory().is_some());
}
