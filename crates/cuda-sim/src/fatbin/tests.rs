//! Fat binaries as nvcc writes them, and what is left of them after damage.

use proptest::prelude::*;

use super::*;

macro_rules! fatbin {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fatbin/", $name))
    };
}

/// The same three entries of PTX, packed in every way that nvcc 13.0 knows.
const ALL: [(&str, &[u8]); 4] = [
    ("none", fatbin!("none.fatbin")),
    ("speed", fatbin!("speed.fatbin")),
    ("size", fatbin!("size.fatbin")),
    ("balance", fatbin!("balance.fatbin")),
];

#[test]
fn the_highest_architecture_that_the_device_has_is_chosen() {
    for (name, bytes) in ALL {
        for (capability, target) in [
            (75, "sm_75"),
            (79, "sm_75"),
            (80, "sm_80"),
            (89, "sm_80"),
            (90, "sm_90"),
            (120, "sm_90"),
        ] {
            let text = choose(bytes, capability).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(text.contains(&format!(".target {target}\n")), "{name}, {capability}");
        }
    }
}

#[test]
fn every_compression_holds_the_same_text() {
    let texts: Vec<String> =
        ALL.iter().map(|(_, bytes)| choose(bytes, 80).expect("PTX for it")).collect();
    for text in &texts {
        assert_eq!(text.trim(), texts[0].trim());
        assert!(ptx::parse(text).is_ok());
    }
}

#[test]
fn what_is_for_newer_devices_only_is_refused_with_both_sides() {
    let error = choose(fatbin!("none.fatbin"), 61).expect_err("nothing for it");
    let found = "compute_75, compute_80, compute_90".to_owned();
    assert_eq!(error, FatbinError::Newer { found, capability: 61 });
    assert!(error.to_string().contains("capability 6.1"), "{error}");
}

#[test]
fn machine_code_beside_ptx_is_passed_over_and_alone_it_is_refused() {
    let both = fatbin!("both.fatbin");
    assert!(choose(both, 75).expect("PTX for it").contains(".target sm_75\n"));
    let kinds: Vec<FatbinEntryKind> =
        entries(both).expect("well-formed").iter().map(|entry| entry.kind).collect();
    assert!(kinds.contains(&FatbinEntryKind::Other) && kinds.contains(&FatbinEntryKind::Ptx));
    // The same container with the kind of its PTX changed.
    let mut machine = both.to_vec();
    machine[HEADER_BYTES] = 2;
    let error = choose(&machine, 75).expect_err("no PTX");
    assert_eq!(error, FatbinError::NoPtx("sm_75".to_owned()));
    assert!(error.to_string().contains("code=compute_75"), "{error}");
}

#[test]
fn a_container_that_ends_too_early_is_malformed() {
    for (name, bytes) in ALL {
        for length in 0..bytes.len() {
            let result = choose(&bytes[..length], 90);
            assert!(
                matches!(result, Err(FatbinError::Malformed { .. })),
                "{name}, {length}: {result:?}"
            );
        }
    }
}

/// A container with one entry of PTX that says how it is packed and how large it is.
fn container(flags: u64, payload: &[u8], unpacked: u64) -> Vec<u8> {
    let mut payload = payload.to_vec();
    let packed = payload.len() as u32;
    payload.resize(payload.len().next_multiple_of(8), 0);
    let mut entry = vec![0_u8; 64];
    entry[0] = 1;
    entry[4..8].copy_from_slice(&64_u32.to_le_bytes());
    entry[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    entry[16..20].copy_from_slice(&packed.to_le_bytes());
    entry[28..32].copy_from_slice(&75_u32.to_le_bytes());
    entry[40..48].copy_from_slice(&flags.to_le_bytes());
    entry[56..64].copy_from_slice(&unpacked.to_le_bytes());
    entry.extend(payload);
    let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    bytes.extend((entry.len() as u64).to_le_bytes());
    bytes.extend(entry);
    bytes
}

#[test]
fn a_small_image_cannot_unpack_to_much() {
    // A zstd frame of 128 KiB blocks that repeat one byte: 4 bytes each.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    let blocks = 1000_u64;
    for block in 1..=blocks {
        let header = u32::from(block == blocks) | 1 << 1 | (128 << 10) << 3;
        bomb.extend(&header.to_le_bytes()[..3]);
        bomb.push(b' ');
    }
    let (lz4, zstd) = (0x2000, 0x8000);
    for (flags, unpacked) in
        [(zstd, blocks << 17), (zstd, u64::MAX), (lz4, 1 << 40), (lz4, 2 << 20)]
    {
        let error = choose(&container(flags, &bomb, unpacked), 75).expect_err("too much");
        assert!(matches!(error, FatbinError::Malformed { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("PTX"), "{text}");
    }
}

proptest! {
    #[test]
    fn damage_is_an_error_or_another_text(
        which in 0usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = ALL[which].1.to_vec();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        crate::fuzzing::fatbin(&bytes);
    }

    #[test]
    fn any_bytes_behind_a_header_are_read_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 16..400),
    ) {
        let size = (bytes.len() - HEADER_BYTES) as u64;
        bytes[..8].copy_from_slice(&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
        bytes[8..16].copy_from_slice(&size.to_le_bytes());
        crate::fuzzing::fatbin(&bytes);
    }
}
