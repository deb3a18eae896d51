//! The options of PyTorch's allocator, as they are read and shown.

use gpu_alloc::policy::{OptionsError, Policy, Pytorch, PytorchOptions, StreamAndPool};
use proptest::prelude::*;

use crate::test_source::TestSource;

fn read(text: &str) -> Result<PytorchOptions, OptionsError> {
    text.parse()
}

fn error(text: &str) -> String {
    read(text).expect_err("it is no valid set of options").to_string()
}

#[test]
fn options_are_read_with_blanks_and_a_comma_at_the_end_and_the_last_one_counts() {
    let options = read(" expandable_segments : True , max_split_size_mb:64,max_split_size_mb:128,");
    let options = options.expect("it is well formed");
    assert!(options.expandable_segments());
    assert_eq!(options.max_split_size(), Some(128 << 20));
    assert_eq!(options.to_string(), "max_split_size_mb:128,expandable_segments:True");
    assert_eq!(read(""), Ok(PytorchOptions::default()));
}

#[test]
fn an_error_names_the_option_its_value_and_what_is_expected() {
    let unknown = error("max_split:20");
    assert!(unknown.starts_with("there is no option `max_split`"), "{unknown}");
    assert!(unknown.contains("max_split_size_mb, "), "{unknown}");
    for (text, message) in [
        ("expandable_segments:true", "expandable_segments is `true`: it must be `True` or `False`"),
        (
            "garbage_collection_threshold:1",
            "garbage_collection_threshold is `1`: it must be a number above 0 and below 1",
        ),
        (
            "max_split_size_mb:20,large_segment_size_mb:22",
            "max_split_size_mb is `20`: it must be at least large_segment_size_mb",
        ),
        (
            "roundup_power2_divisions:[3:1]",
            "roundup_power2_divisions is `3`: it must be a power of two of MiB, or `>`",
        ),
        (
            "roundup_power2_divisions:[4:3]",
            "roundup_power2_divisions is `3`: it must be a power of two, or 0",
        ),
        ("max_split_size_mb", "after `max_split_size_mb` there is nothing more: there must be `:`"),
        (
            "expandable_segments:True max",
            "expandable_segments is `Truemax`: it must be `True` or `False`",
        ),
        (
            "roundup_power2_divisions:[4:2 8:2]",
            "roundup_power2_divisions is `28`: it must be a power of two, or 0",
        ),
        (
            "roundup_power2_divisions:[4:2",
            "after `roundup_power2_divisions:[4:2` there is nothing more: there must be `,` or `]`",
        ),
        (",", "after `` there is `,`: there must be an option"),
    ] {
        assert_eq!(error(text), message, "{text}");
    }
}

#[test]
fn what_would_deceive_is_refused_with_a_reason_and_what_does_nothing_is_accepted() {
    for text in ["backend:cudaMallocAsync", "expandable_segments_reserve:2"] {
        let refused = read(text).expect_err("a program counts on it");
        assert!(matches!(refused, OptionsError::Unsupported { .. }), "{text}");
    }
    let inert = "backend:native,throw_on_cudamalloc_oom:False,pinned_num_register_threads:8,\
                 pinned_use_background_threads:True,release_lock_on_cudamalloc:True";
    let accepted = read(inert).expect("it is accepted");
    assert_eq!(accepted.to_string(), PytorchOptions::default().to_string());
    assert!(read("pinned_num_register_threads:3").is_err());
}

#[test]
fn inert_combinations_are_told() {
    let warnings = |text| read(text).expect("it is well formed").warnings().count();
    assert_eq!(warnings("garbage_collection_threshold:0.8"), 1);
    assert_eq!(warnings("garbage_collection_threshold:0.8,per_process_memory_fraction:0.9"), 0);
    assert_eq!(warnings("throw_on_cudamalloc_oom:True"), 1);
    assert_eq!(warnings("throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.9"), 0);
    assert_eq!(warnings("max_non_split_rounding_mb:30"), 1);
    assert_eq!(warnings("max_non_split_rounding_mb:30,max_split_size_mb:64"), 0);
    assert_eq!(warnings("max_split_size_mb:64,expandable_segments:True"), 1);
    assert_eq!(warnings("pinned_max_cached_size_mb:64,release_lock_on_cudamalloc:True"), 2);
    assert_eq!(warnings("backend:native,release_lock_on_cudamalloc:False"), 0);
}

/// A setting that is well formed.
fn setting() -> impl Strategy<Value = String> {
    let power = |most: u32| (0..=most).prop_map(|log| 1_u64 << log);
    let entry =
        (prop_oneof![power(20).prop_map(|mb| mb.to_string()), Just(">".to_owned())], power(6))
            .prop_map(|(size, divisions)| format!("{size}:{divisions}"));
    let list = prop::collection::vec(entry, 0..5).prop_map(|list| format!("[{}]", list.join(",")));
    prop_oneof![
        (40..u64::MAX).prop_map(|mb| format!("max_split_size_mb:{mb}")),
        (20..5000_u64).prop_map(|mb| format!("max_non_split_rounding_mb:{mb}")),
        power(9).prop_map(|divisions| format!("roundup_power2_divisions:{divisions}")),
        list.prop_map(|list| format!("roundup_power2_divisions:{list}")),
        (0.01..0.99).prop_map(|part| format!("garbage_collection_threshold:{part}")),
        (5..=20_u64).prop_map(|half| format!("large_segment_size_mb:{}", 2 * half)),
        any::<bool>().prop_map(|on| {
            format!("expandable_segments:{}", if on { "True" } else { "False" })
        }),
        (0.0..=1.0).prop_map(|part| format!("per_process_memory_fraction:{part}")),
    ]
}

/// Pieces of options in any order.
fn babble() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("roundup_power2_divisions".to_owned()),
        Just("max_split_size_mb".to_owned()),
        Just("backend".to_owned()),
        "[,:>\\[\\] ]",
        "[0-9]{1,20}",
        "\\PC{0,4}",
        setting(),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_shown_reads_as_the_same_options(settings in prop::collection::vec(setting(), 0..6)) {
        let options = read(&settings.join(","));
        prop_assert!(options.is_ok(), "{:?}", options);
        let options = options.expect("just asserted");
        prop_assert_eq!(read(&options.to_string()), Ok(options));
    }

    #[test]
    fn any_text_is_refused_or_makes_a_policy_that_works(text in babble()) {
        try_text(&text);
    }
}

/// Any text is refused, or means the same when what it means is written down, and makes a policy that
/// serves requests of all sizes or refuses them.
///
/// # Panics
/// When it does not.
pub(crate) fn try_text(text: &str) {
    let Ok(options) = read(text) else { return };
    assert_eq!(read(&options.to_string()).as_ref(), Ok(&options));
    let mut source = TestSource::new(1 << 30);
    let mut policy = Pytorch::<usize>::with_options(options, 1 << 30);
    policy.set_memory_limit(Some(1 << 30));
    let mut held = Vec::new();
    for bytes in (0..64).map(|power| 1_u64 << power).flat_map(|bytes| [bytes - 1, bytes]) {
        let block = policy.allocate(&mut source, bytes, StreamAndPool::from(0));
        let Ok(block) = block else { continue };
        assert!(block.bytes() >= bytes && block.address().0.is_multiple_of(512));
        held.push(block);
        if held.len() > 3 {
            policy.free(held.remove(0), &[(0, 1)]).expect("the block is the policy's own");
        }
    }
    for block in held {
        policy.free(block, &[]).expect("the block is the policy's own");
    }
    policy.completed(0, 1);
    policy.release_cached(&mut source);
    assert!(source.device().is_untouched(), "nothing is lost");
}
