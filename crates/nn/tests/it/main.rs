//! Modules and optimizers, on the CPU and on software GPUs.

mod adaptive;
mod attention;
mod convolutions;
mod curves;
mod derive;
mod devices;
mod errors;
mod files;
mod hooked;
mod images;
mod init;
mod memory;
mod modules;
mod moving;
mod norms;
mod optimizers;
mod parametrize;
mod recurrent;
mod resume;
mod schedules;
mod states;
mod training;
mod utils;
