//! The software driver as programs see it: through its table of functions, and `control`.

#![cfg_attr(fuzzing, no_main)]
#![cfg_attr(fuzzing, allow(dead_code, unused, reason = "the tests themselves are left out"))]

mod chapters;
mod checked;
mod concurrent_calls;
mod contexts;
mod control;
mod copies;
mod events;
mod faults;
mod faults_on_demand;
mod graphs;
mod host_functions;
mod host_memory;
mod init;
mod ipc;
mod launches;
mod libraries;
mod linking;
mod managed;
mod memory;
mod module_limits;
mod modules;
mod names;
mod older_launches;
mod page_faults;
mod peers;
mod pools;
mod printing;
mod random_calls;
mod rows;
mod schedules;
mod settings;
mod sim;
mod stacks;
mod streams;
mod stress;
mod virtual_memory;
mod virtual_time;

pub(crate) use sim::{cuda, fails, ok};

// The fuzz target `calls` is this program without its tests.
#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| random_calls::from_bytes(bytes));
