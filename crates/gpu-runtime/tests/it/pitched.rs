//! Strided copies: every direction, blocking and not.

use gpu_runtime::{Error, PinnedBuffer, Pitched, Stream};

use crate::fixture::{Gate, device, device_or_skip, pinned, read, zeros};

/// Columns 1 and 2 of 3 rows of 4.
const BLOCK: Pitched = Pitched { start: 1, count: 3, length: 2, stride: 4 };

fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

fn matrix() -> Vec<u32> {
    (0..12).collect()
}

#[test]
fn rows_of_a_slice_reach_a_device_and_the_slice_may_change() {
    let (stream, mut source) = (stream(), matrix());
    let mut buffer = zeros(device(), 12);
    stream.copy_htod_2d(&source, BLOCK, &mut buffer, BLOCK).expect("the copy is taken");
    source.fill(99);
    assert_eq!(read(&buffer), [0, 1, 2, 0, 0, 5, 6, 0, 0, 9, 10, 0]);
}

#[test]
fn rows_reach_the_host_without_their_gaps() {
    let stream = stream();
    let buffer = stream.copy_htod(&matrix()).expect("the copy is taken");
    let rows = stream.copy_dtoh_2d(&buffer, BLOCK).expect("the copy is taken");
    assert_eq!(rows.wait().expect("the device works"), [1, 2, 5, 6, 9, 10]);
}

#[test]
fn rows_of_page_locked_memory_are_copied_without_waiting() {
    let stream = stream();
    let source = PinnedBuffer::from_slice(&matrix()).expect("page-locked memory");
    let (mut buffer, into) = (zeros(device(), 6), pinned(12));
    let dense = Pitched::dense(3, 2);
    let gate = Gate::hold(&stream);
    let there = stream.copy_htod_2d_pinned(source, BLOCK, &mut buffer, dense).expect("a copy");
    let back = stream.copy_dtoh_2d_pinned(&buffer, dense, into, BLOCK).expect("a copy");
    assert!(!there.is_complete().expect("the device works"));
    gate.open();
    assert_eq!(*back.wait().expect("the device works"), [0, 1, 2, 0, 0, 5, 6, 0, 0, 9, 10, 0]);
    assert_eq!(*there.wait().expect("the device works"), *matrix());
}

#[test]
fn rows_are_copied_within_a_device_and_between_two() {
    let test = "rows_are_copied_within_a_device_and_between_two";
    let source = stream().copy_htod(&matrix()).expect("the copy is taken");
    let places = [Some(device()), device_or_skip(1, test)];
    for to in places.into_iter().flatten() {
        for on in [device(), to] {
            let mut copy = zeros(to, 12);
            let stream = Stream::new(on).expect("a stream");
            stream.copy_dtod_2d(&source, BLOCK, &mut copy, BLOCK).expect("the copy is taken");
            assert_eq!(read(&copy), [0, 1, 2, 0, 0, 5, 6, 0, 0, 9, 10, 0]);
        }
    }
}

#[test]
fn a_part_of_a_buffer_is_one_row() {
    let stream = stream();
    let mut buffer = stream.copy_htod(&matrix()).expect("the copy is taken");
    let (from, to) = (Pitched::part(1, 2), Pitched::part(10, 2));
    stream.copy_htod_2d(&[50, 51, 52], from, &mut buffer, to).expect("the copy is taken");
    assert_eq!(read(&buffer)[9..], [9, 51, 52]);
}

#[test]
fn a_strided_copy_comes_after_the_write_of_its_source() {
    let (writer, reader) = (stream(), stream());
    let (mut buffer, into) = (zeros(device(), 12), pinned(6));
    let gate = Gate::hold(&writer);
    writer.copy_htod_into(&matrix(), &mut buffer).expect("the copy is taken");
    let rows = reader.copy_dtoh_2d_pinned(&buffer, BLOCK, into, Pitched::dense(3, 2));
    let rows = rows.expect("the copy is taken");
    assert!(!rows.is_complete().expect("the device works"));
    gate.open();
    assert_eq!(*rows.wait().expect("the device works"), [1, 2, 5, 6, 9, 10]);
}

#[test]
fn rows_that_do_not_fit_are_refused_and_nothing_is_enqueued() {
    let stream = stream();
    let mut buffer = zeros(device(), 12);
    let outside = Pitched { start: 3, ..BLOCK };
    let overlapping = Pitched { stride: 1, ..BLOCK };
    for rows in [outside, overlapping, Pitched { count: usize::MAX, ..BLOCK }] {
        let error = stream.copy_dtoh_2d(&buffer, rows).expect_err("it does not fit");
        assert!(matches!(error, Error::InvalidRows { elements: 12, .. }), "{error}");
    }
    let error = stream.copy_htod_2d(&matrix(), BLOCK, &mut buffer, Pitched::dense(2, 3));
    let error = error.expect_err("another shape");
    assert!(matches!(error, Error::RowsMismatch { operation: "copy_htod_2d", .. }), "{error}");
    stream
        .copy_htod_2d(&[0u32; 0], Pitched::dense(0, 0), &mut buffer, Pitched::dense(0, 0))
        .expect("nothing to do");
    assert_eq!(stream.sequence(), 0);
}
