//! The digits job: what its command line and the environment ask for.

use clap::Parser;
use test_support::isolate;

#[path = "../../examples/digits/args.rs"]
#[allow(dead_code, reason = "the program uses the rest")]
mod args;
#[path = "../../examples/digits/devices.rs"]
#[allow(dead_code, reason = "the program uses the rest")]
mod devices;

use super::job::{error, train};
use args::Args;
use error::Error;

#[test]
fn the_driver_that_the_environment_names_is_insisted_on() {
    isolate(|| {
        let chosen = devices::choose(&Args::parse_from(["digits"]));
        match chosen {
            Ok(chosen) => assert_eq!(chosen.driver, "nvidia"),
            Err(error) => assert!(matches!(error, Error::NoCuda(_)), "{error}"),
        }
    })
    .env("GPU_DRIVER", "nvidia")
    .run();
}

#[test]
fn where_no_driver_is_named_there_are_gpus_in_any_case() {
    isolate(|| {
        let chosen = devices::choose(&Args::parse_from(["digits"])).expect("some GPUs");
        assert!(!chosen.devices.is_empty());
    })
    .env_remove("GPU_DRIVER")
    .run();
}

#[test]
fn numbers_below_the_least_are_refused_as_values() {
    for argument in ["--epochs", "--batch-size", "--seed"] {
        for value in ["-3", "x"] {
            let refused = Args::try_parse_from(["digits", argument, value]);
            let text = refused.expect_err("no such number").to_string();
            assert!(text.contains("invalid value") && text.contains(argument), "{text}");
        }
    }
}
