//! What NVIDIA's driver does not have: how many devices there are and how large, faults on demand,
//! counters, and a way back to the start.
//!
//! ```
//! use cuda_sim::control;
//!
//! control::configure(control::Config { devices: 4, ..control::Config::default() })?;
//! let driver = cuda_sim::driver();
//! let mut count = 0;
//! // SAFETY: `count` is writable.
//! unsafe {
//!     (driver.cuInit)(0).ok()?;
//!     (driver.cuDeviceGetCount)(&mut count).ok()?;
//! }
//! assert_eq!(count, 4);
//! assert_eq!(control::counters().calls["cuDeviceGetCount"], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What can be controlled, from a program or by environment variables of any client:
//!
//! | what | call | variable |
//! |---|---|---|
//! | the machine | [`configure`], [`Config`] | `CUDA_SIM_DEVICES`, `CUDA_SIM_MEMORY`, and others |
//! | the order of operations | [`set_schedule`], [`schedule`] | `CUDA_SIM_SCHEDULE` |
//! | many orders | [`try_schedules`], [`explore`] | |
//! | the clock | [`Config::time`], [`virtual_now`], [`spend`], [`wait_until`] | `CUDA_SIM_TIME` |
//! | what kernels take by it | [`declare_kernel`] | |
//! | when operations ran by it | [`tell_operation_times`], [`take_operation_times`] | |
//! | faults | [`inject`], [`fail`], [`clear_faults`], [`last_fault`] | `CUDA_SIM_FAULTS` |
//! | how much memory there is, at run time | [`set_memory_limit`] | |
//! | a way back to the start | [`reset`] | |
//! | what there is | [`counters()`] | |
//!
//! A missing wait is found so: run the test under `CUDA_SIM_SCHEDULE=adversarial:0`, `:1`, and so
//! on, or in a loop of [`try_schedules`]; [`schedule`] gives a short text of the order in which it
//! failed, and `CUDA_SIM_SCHEDULE=replay:...` brings just that order back.
//!
//! Under schedules that run one operation at a time, a host function or a kernel that shows no sign
//! of life for half a second is taken to wait for the program, and others run beside it; and if no
//! call comes for as long, operations go on by themselves. Nothing hangs for want of a call, but
//! what such a program does when may differ from run to run.
//!
//! Under virtual time, a thread that sleeps outside the driver holds nothing up for longer than a
//! moment; its clock then goes on from what is decided. Programs with several host threads get the
//! same times in each run if they say how many there are ([`expect_host_threads`]) and make their
//! streams in one of them. What a stream had left when it was destroyed is not waited for.

mod cached;
mod counters;
mod driver_function;
mod error;
mod faults;
mod machine;
mod reports;
mod schedules;
mod virtual_time;

pub use ptx_jit::ExecutionMode;

pub use cached::{ask_what_is_kept, keep_object};
pub(crate) use counters::count;
pub use counters::{Counters, counters};
pub(crate) use driver_function::DriverFunction;
pub use error::{ConfigureError, ControlError};
pub use faults::{clear_faults, fail, inject};
pub(crate) use faults::{inject_configured, injected};
pub(crate) use machine::configuration;
pub use machine::{configure, reset, set_memory_limit, why_not_initialised};
pub use reports::{clear_reports, last_fault, reports};
pub use schedules::{
    Bound, Exploration, explore, schedule, schedule_diverged, set_schedule, try_schedules,
};

pub use virtual_time::{
    declare_kernel, expect_host_threads, spend, take_last_operation, take_operation_times,
    tell_operation_times, virtual_now, wait_until,
};

pub use crate::config::{
    Capability, CheckKinds, Choice, Config, ConfigError, FaultError, InjectedFault, Link,
    PeerFault, Schedule, ScheduleError, ScheduleTrace, Time, TimeModel, UnknownCheck, WorkKind,
};
pub use crate::time::{KernelWork, OperationId};
pub use cuda_check::{
    Actor, AllocationInfo, ApiCall, CacheLister, CachedResource, Report, ReportKind,
};
