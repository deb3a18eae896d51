//! Any bytes are refused, or read into values that can be walked.

use pickle::{Allowed, GlobalName, Pickle, PickleValue};
use proptest::prelude::*;

const ALLOWED: Allowed<'static> = Allowed {
    globals: &[GlobalName { module: "m", name: "f" }, GlobalName { module: "m", name: "g" }],
    persistent_ids: true,
};

/// Reads bytes, and walks over what there is, without end where parts are in each other.
pub(crate) fn try_bytes(bytes: &[u8]) {
    for allowed in [ALLOWED, Allowed::NOTHING] {
        match Pickle::read(bytes, allowed) {
            Ok(pickle) => walk(pickle.root(), bytes.len()),
            Err(error) => assert!(
                !error.to_string().is_empty() && error.to_string().len() < 2 * bytes.len() + 200
            ),
        }
    }
}

fn walk(root: PickleValue<'_>, steps: usize) {
    let mut left = vec![root];
    for _ in 0..10 * steps {
        let Some(value) = left.pop() else { return };
        let _ = (value.is_none(), value.int(), value.float(), value.text(), value.global());
        left.extend(value.items().into_iter().flatten());
        left.extend(value.entries().into_iter().flatten().flat_map(|(key, value)| [key, value]));
        left.extend(value.persistent_id());
        left.extend(value.call().map(|(_, arguments)| arguments));
        // What is one part is met again and again; the number of parts is the pickle's.
        left.truncate(10 * steps);
    }
}

/// The instructions that are followed, and one that is not, most of them short.
const INSTRUCTIONS: &[&[u8]] = &[
    b"(",
    b"0",
    b"1",
    b"N",
    b"\x88",
    b"\x89",
    b"K\x05",
    b"M\x05\x01",
    b"J\xff\xff\xff\xff",
    b"\x8a\x02\xff\xff",
    b"G@\x09\x21\xfb\x54\x44\x2d\x18",
    b"\x8c\x01a",
    b"X\x01\0\0\0m",
    b"]",
    b"a",
    b"e",
    b"l",
    b")",
    b"t",
    b"\x85",
    b"\x86",
    b"\x87",
    b"}",
    b"d",
    b"s",
    b"u",
    b"q\x00",
    b"q\x01",
    b"h\x00",
    b"h\x01",
    b"\x94",
    b"cm\nf\n",
    b"ccollections\nOrderedDict\n",
    b"R",
    b"b",
    b"Q",
    b"\x8c\x01f\x93",
    b"\x81",
];

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        try_bytes(&bytes);
        try_bytes(&[&[0x80, 2], &bytes[..]].concat());
    }

    #[test]
    fn no_program_makes_the_reader_panic(
        program in prop::collection::vec(prop::sample::select(INSTRUCTIONS), 0..200),
    ) {
        try_bytes(&[&[0x80, 2], &program.concat()[..], b"."].concat());
    }

    #[test]
    fn a_program_of_values_that_are_kept_is_read(
        values in prop::collection::vec(prop::sample::select(&INSTRUCTIONS[3..12]), 0..200),
    ) {
        let bytes = [&b"\x80\x02]("[..], &values.concat()[..], b"e."].concat();
        let pickle = Pickle::read(&bytes, Allowed::NOTHING).expect("a list");
        prop_assert_eq!(pickle.root().items().expect("a list").len(), values.len());
    }
}
