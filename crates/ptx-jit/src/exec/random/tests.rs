//! Kernels from random bytes.

use proptest::prelude::*;

use super::compare;

/// `RANDOM_KERNELS=10000 cargo test -p ptx-jit --lib random` tries so many.
fn config() -> ProptestConfig {
    let asked = std::env::var("RANDOM_KERNELS").ok().and_then(|count| count.parse().ok());
    let cases = asked.unwrap_or(50);
    ProptestConfig { cases, max_shrink_iters: 4096, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_kernels_do_the_same_in_lockstep_and_thread_at_a_time(
        bytes in prop::collection::vec(any::<u8>(), 4..400),
    ) {
        if let Err(difference) = compare(&bytes) {
            prop_assert!(false, "{difference}");
        }
    }
}
