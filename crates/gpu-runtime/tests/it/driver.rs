//! Which driver a process gets, and what it is told without one.

use gpu_runtime::{
    Availability, Device, DriverChoice, DriverKind, Error, availability, choose_driver,
    driver_kind, driver_version, is_available,
};
use test_support::isolate;

const SOFTWARE: DriverChoice = DriverChoice::Software { devices: None };

fn nvidia_is_there() -> bool {
    std::path::Path::new("/proc/driver/nvidia/version").exists()
}

#[test]
fn without_a_driver_nothing_is_available_and_the_reason_says_what_was_tried() {
    if nvidia_is_there() {
        return test_support::skipped(
            "without_a_driver_nothing_is_available_and_the_reason_says_what_was_tried",
            "this machine has a driver",
        );
    }
    isolate(|| {
        assert!(!is_available());
        let Availability::Unavailable { reason } = availability() else { panic!("available") };
        assert!(matches!(reason, Error::DriverNotFound { .. }), "{reason:?}");
        let text = reason.to_string();
        for part in ["libcuda.so.1", "GPU_DRIVER=software", "choose_driver"] {
            assert!(text.contains(part), "no {part} in: {text}");
        }
        assert!(matches!(Device::count(), Err(Error::DriverNotFound { .. })));
        assert!(matches!(Device::get(0), Err(Error::DriverNotFound { .. })));
        assert!(matches!(Device::current(), Err(Error::DriverNotFound { .. })));
        // Nothing was settled by asking.
        choose_driver(SOFTWARE).expect("the software driver may still be chosen");
        assert!(is_available());
    })
    .env("GPU_DRIVER", "nvidia")
    .run();
}

#[test]
fn the_environment_asks_for_the_software_driver() {
    isolate(|| {
        assert_eq!(Device::count().expect("two devices"), 2);
        assert_eq!(driver_kind().expect("a driver"), DriverKind::Software);
        assert!(driver_version().expect("a driver") >= (12, 0));
    })
    .env("GPU_DRIVER", "software:2")
    .run();
}

#[test]
fn an_unknown_driver_in_the_environment_is_an_error_and_not_another_driver() {
    isolate(|| {
        let error = Device::count().expect_err("there is no such driver");
        assert!(matches!(&error, Error::UnknownDriver { asked } if asked == "amd"), "{error}");
        assert!(!is_available());
    })
    .env("GPU_DRIVER", "amd")
    .run();
}

#[test]
fn a_setting_of_the_software_driver_that_means_nothing_is_named() {
    isolate(|| {
        let text = Device::count().expect_err("it means nothing").to_string();
        assert!(text.contains("CUDA_SIM_MEMORY=plenty"), "{text}");
    })
    .env("GPU_DRIVER", "software")
    .env("CUDA_SIM_MEMORY", "plenty")
    .run();
}

#[test]
fn as_many_software_devices_as_were_asked_for_are_there() {
    for driver in ["software:300", "software:1024"] {
        isolate(|| {
            let asked = std::env::var("GPU_DRIVER").expect("it is set");
            let count = Device::count().expect("as many as were asked for");
            assert_eq!(format!("software:{count}"), asked);
        })
        .env("GPU_DRIVER", driver)
        .run();
    }
}

#[test]
fn more_software_devices_than_there_can_be_are_refused_with_the_limit() {
    isolate(|| {
        let text = Device::count().expect_err("one too many").to_string();
        assert!(text.contains("1024") && text.contains("1025"), "{text}");
    })
    .env("GPU_DRIVER", "software:1025")
    .run();
}

#[test]
fn memory_for_which_there_are_no_addresses_is_an_error_with_a_way_out() {
    isolate(|| {
        let text = Device::count().expect_err("there are not so many addresses").to_string();
        for part in ["4 devices", "CUDA_SIM_MEMORY", "fewer devices"] {
            assert!(text.contains(part), "no {part} in: {text}");
        }
    })
    .env("GPU_DRIVER", "software:4")
    .env("CUDA_SIM_MEMORY", "100TiB")
    .run();
}

#[test]
fn a_call_wins_over_the_environment() {
    isolate(|| {
        choose_driver(DriverChoice::Software { devices: Some(3) }).expect("nothing is in use");
        assert_eq!(Device::count().expect("three devices"), 3);
    })
    .env("GPU_DRIVER", "software:2")
    .run();
}

#[test]
fn a_second_different_choice_is_an_error_that_names_both() {
    isolate(|| {
        choose_driver(DriverChoice::Software { devices: Some(2) }).expect("nothing is in use");
        choose_driver(DriverChoice::Software { devices: Some(2) }).expect("it is the same");
        choose_driver(SOFTWARE).expect("any number of devices will do");
        let fewer = choose_driver(DriverChoice::Software { devices: Some(1) });
        let other = choose_driver(DriverChoice::Nvidia);
        for (result, asked) in [(fewer, "`software:1`"), (other, "`nvidia`")] {
            let text = result.expect_err("another one is in use").to_string();
            assert!(text.contains(asked) && text.contains("`software:2`"), "{text}");
        }
    })
    .run();
}

#[test]
fn threads_that_choose_at_once_agree() {
    isolate(|| {
        let chosen: Vec<_> = std::thread::scope(|scope| {
            let choose = |devices| {
                scope.spawn(move || {
                    choose_driver(DriverChoice::Software { devices: Some(devices) }).is_ok()
                })
            };
            let threads: Vec<_> = [1, 2, 3, 4].map(choose).into_iter().collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        assert_eq!(chosen.iter().filter(|ok| **ok).count(), 1);
        let devices = chosen.iter().position(|ok| *ok).expect("one was first") + 1;
        assert_eq!(Device::count().expect("a driver"), devices);
    })
    .run();
}

#[test]
fn asking_creates_no_context() {
    isolate(|| {
        let Availability::Available { kind, devices } = availability() else { panic!("none") };
        assert_eq!((kind, devices), (DriverKind::Software, 2));
        let device = Device::get(1).expect("two devices");
        device.properties().expect("properties");
        device.can_access_peer(Device::get(0).expect("two devices")).expect("an answer");
        drop(device.enter().expect("entering needs no context"));
        assert_eq!(cuda_sim::control::counters().contexts, 0);
        device.memory_info().expect("this needs a context");
        assert_eq!(cuda_sim::control::counters().contexts, 1);
    })
    .env("GPU_DRIVER", "software:2")
    .run();
}

#[test]
fn the_driver_hides_and_reorders_devices() {
    let uuids = |indices: &[usize]| -> Vec<_> {
        let device = |index: &usize| Device::get(*index).expect("it is visible");
        indices.iter().map(|index| device(index).properties().expect("properties").uuid).collect()
    };
    isolate(|| {
        assert_eq!(Device::count().expect("a driver"), 2);
        let here = uuids(&[0, 1]);
        // The software driver's devices have identities that follow from their physical index.
        assert_ne!(here[0], here[1]);
        assert!(matches!(Device::get(2), Err(Error::InvalidDevice { index: 2, count: 2 })));
    })
    .env("GPU_DRIVER", "software:4")
    .env("CUDA_VISIBLE_DEVICES", "2,0")
    .run();
}

#[test]
fn a_driver_whose_devices_are_all_hidden_has_none() {
    isolate(|| {
        assert_eq!(Device::count().expect("a driver without devices is not an error"), 0);
        assert!(!is_available());
        let error = Device::get(0).expect_err("there is none");
        assert!(error.to_string().contains("CUDA_VISIBLE_DEVICES"), "{error}");
    })
    .env("GPU_DRIVER", "software:4")
    .env("CUDA_VISIBLE_DEVICES", "")
    .run();
}
