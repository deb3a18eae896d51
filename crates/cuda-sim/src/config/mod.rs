//! What a program can ask the software driver for, by calls or by environment variables: plain
//! values, and the texts that name them.

mod capability;
pub(crate) mod code_cache;
mod fault;
mod machine;
mod schedule;
mod size;
mod time_model;

pub use capability::Capability;
pub use cuda_check::{CheckKinds, UnknownCheck};
pub use fault::{FaultError, InjectedFault, Link, PeerFault, WorkKind};
pub use machine::{Config, ConfigError};
pub use schedule::{Choice, Schedule, ScheduleError, ScheduleTrace};
pub use time_model::{Time, TimeModel};
