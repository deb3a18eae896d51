//! The search for the driver, in a process of its own with a known search path.

use cuda_sys::{Driver, LoadError};

/// The search path is that of the process: cargo puts folders of its own on it.
#[test]
fn loading_gives_a_usable_driver_or_says_what_was_tried() {
    test_support::isolate(|| check(Driver::load())).env_remove("LD_LIBRARY_PATH").run();
}

fn check(loaded: Result<Driver, LoadError>) {
    match loaded {
        Ok(driver) => {
            let mut version = 0;
            // SAFETY: `version` is writable, and this call needs no `cuInit` before it.
            let result = unsafe { (driver.cuDriverGetVersion)(&mut version) };
            assert_eq!(result.ok(), Ok(()));
            assert!(version >= 12_000, "{version}");
        }
        Err(error) => {
            let text = error.to_string();
            let LoadError::NotFound { tried } = error else { panic!("an unusable driver: {text}") };
            assert!(!tried.is_empty());
            for attempt in tried {
                assert!(text.contains(attempt.library) && text.contains(&attempt.reason), "{text}");
            }
        }
    }
}
