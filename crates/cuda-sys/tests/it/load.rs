//! The search for the driver, in a process of its own with a known search path.

use std::process::Command;

use cuda_sys::{Driver, LoadError};

const CHILD: &str = "CUDA_SYS_TEST_CHILD";

/// The search path is that of the process, so the test starts itself again without one: cargo puts
/// folders of its own on it.
#[test]
fn loading_gives_a_usable_driver_or_says_what_was_tried() {
    if std::env::var_os(CHILD).is_some() {
        return load();
    }
    let status = Command::new(std::env::current_exe().expect("the test has a file"))
        .args(["--exact", "load::loading_gives_a_usable_driver_or_says_what_was_tried"])
        .env(CHILD, "1")
        .env_remove("LD_LIBRARY_PATH")
        .status()
        .expect("the test can be started again");
    assert!(status.success());
}

fn load() {
    match Driver::load() {
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
