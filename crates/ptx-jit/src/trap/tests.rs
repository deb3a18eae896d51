//! Unit tests of the trap.

use std::cell::Cell;

use super::*;

/// Two pages that belong to nobody.
fn window() -> u64 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing.
    let start = unsafe { libc::mmap(ptr::null_mut(), 8192, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    let start = start.expose_provenance() as u64;
    watch(start..start + 8192);
    start
}

fn read(address: u64) -> u8 {
    let place: *const u8 = ptr::with_exposed_provenance(address as usize);
    // SAFETY: the tests read inside of attempts.
    unsafe { place.read_volatile() }
}

#[test]
fn an_attempt_ends_at_its_first_wild_access() {
    let address = window() + 5;
    let came_back = Cell::new(false);
    // SAFETY: nothing is to be dropped.
    let result = unsafe {
        attempt(|| {
            read(address);
            came_back.set(true);
        })
    };
    assert_eq!(result, Err(Wild { address }));
    assert!(!came_back.get());
    // SAFETY: nothing is read, and nothing is to be dropped.
    assert_eq!(unsafe { attempt(|| 7) }, Ok(7));
}

#[test]
fn an_attempt_inside_of_another_one_leaves_that_one_going() {
    let address = window();
    let outer = || {
        // SAFETY: nothing is to be dropped.
        let inner = unsafe { attempt(|| read(address)) };
        assert_eq!(inner, Err(Wild { address }));
        read(address + 4096)
    };
    // SAFETY: `outer` has nothing to drop when its second read leaves it.
    assert_eq!(unsafe { attempt(outer) }, Err(Wild { address: address + 4096 }));
}

#[test]
fn a_panic_goes_on_behind_the_attempt() {
    let address = window();
    let caught = catch_unwind(|| {
        // SAFETY: nothing is read.
        let _ = unsafe { attempt(|| panic!("over there")) };
    });
    assert_eq!(caught.expect_err("a panic").downcast_ref(), Some(&"over there"));
    // SAFETY: nothing is to be dropped.
    assert_eq!(unsafe { attempt(|| read(address)) }, Err(Wild { address }));
}

#[test]
fn registers_that_a_function_keeps_are_kept_where_code_is_left() {
    let address = window();
    for round in 0..100_u64 {
        let values: [u64; 8] = std::array::from_fn(|index| round.wrapping_mul(index as u64 + 3));
        let sums: Vec<u64> = values.iter().map(|value| value ^ round).collect();
        // SAFETY: nothing is to be dropped.
        let result = unsafe {
            attempt(|| {
                let mixed = values.iter().fold(round, |sum, value| sum.rotate_left(7) ^ value);
                read(address + mixed % 4096)
            })
        };
        assert!(result.is_err());
        let again: Vec<u64> = values.iter().map(|value| value ^ round).collect();
        assert_eq!(sums, again);
    }
}
