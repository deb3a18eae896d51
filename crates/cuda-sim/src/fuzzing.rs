//! Ways in for the fuzz targets in `fuzz/`, which exist in their builds only.

use crate::config::{Config, InjectedFault, Schedule};
use crate::device::{load_bytes, visible_devices};
use crate::fatbin::{self, FatbinEntryKind};

/// Any bytes are refused as an image that modules are loaded from, or hold a program.
pub fn image(bytes: &[u8]) {
    let _ = load_bytes(bytes.to_vec(), 90);
}

/// Any bytes are refused as a fat binary, or what is found in them is PTX that they hold for a
/// device.
///
/// # Panics
/// When something is chosen that is for another device, or one entry is chosen and another not.
pub fn fatbin(bytes: &[u8]) {
    for capability in [50, 75, 90, 121] {
        let chosen = fatbin::choose(bytes, capability);
        let Ok(entries) = fatbin::entries(bytes) else {
            assert!(chosen.is_err(), "PTX was found in what cannot be read");
            continue;
        };
        let fits = |entry: &fatbin::FatbinEntry<'_>| {
            entry.kind == FatbinEntryKind::Ptx && entry.architecture <= capability
        };
        if chosen.is_ok() {
            assert!(entries.iter().any(fits), "what was found is for another device");
        }
    }
}

/// Any settings are refused, with the variable that is wrong, or mean the same when what they mean
/// is written down and read again. They are given as lines such as `CUDA_SIM_DEVICES=4`.
///
/// # Panics
/// When they do not.
pub fn settings(text: &str) {
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines.find(|(variable, _)| *variable == name).map(|(_, value)| value.to_owned())
    };
    let devices = match Config::from_variables(value) {
        Ok(config) => {
            means_the_same(&config);
            config.devices
        }
        Err(error) => {
            assert_eq!(value(error.variable).as_ref(), Some(&error.value));
            4
        }
    };
    let visible = visible_devices(value("CUDA_VISIBLE_DEVICES").as_deref(), devices);
    for (index, device) in visible.iter().enumerate() {
        assert!(*device < devices, "device {device} of {devices} is visible");
        assert!(!visible[..index].contains(device), "device {device} is visible twice");
    }
}

fn means_the_same(config: &Config) {
    assert!((1..=1024).contains(&config.workers) && config.devices <= 1024);
    assert_eq!(config.check.to_string().parse(), Ok(config.check));
    assert_eq!(config.schedule.to_string().parse::<Schedule>().as_ref(), Ok(&config.schedule));
    let texts: Vec<String> = config.faults.iter().map(InjectedFault::to_string).collect();
    assert_eq!(InjectedFault::list(&texts.join(";")).as_ref(), Some(&config.faults));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// A line with a variable of the driver's, and a value made of the pieces that values have.
    fn line() -> impl Strategy<Value = String> {
        let names = prop::sample::select(vec![
            "CUDA_SIM_DEVICES",
            "CUDA_SIM_MEMORY",
            "CUDA_SIM_WORKERS",
            "CUDA_SIM_CHECK",
            "CUDA_SIM_CAPABILITY",
            "CUDA_SIM_EXECUTION",
            "CUDA_SIM_SCHEDULE",
            "CUDA_SIM_TIME",
            "CUDA_SIM_FAULTS",
            "CUDA_VISIBLE_DEVICES",
        ]);
        let words = prop::sample::select(
            "0 1 4 8.0 MiB - @ = : ; , . * memory init replay seed adversarial fast call cuInit \
             launch copy slow host peer errors dead UNKNOWN h200 real threads GPU- \u{e9}"
                .split(' ')
                .collect::<Vec<_>>(),
        );
        let piece = prop_oneof![8 => words.prop_map(str::to_owned), 1 => "\\PC{0,6}"];
        (names, prop::collection::vec(piece, 0..12))
            .prop_map(|(name, pieces)| format!("{name}={}", pieces.concat()))
    }

    proptest! {
        #[test]
        fn any_settings_are_refused_or_mean_what_they_say(
            lines in prop::collection::vec(line(), 0..4),
        ) {
            super::settings(&lines.join("\n"));
        }
    }
}
