//! A corpus of programs for the race checker, a module per kind.
//!
//! Each kind has programs with a race that default order prevents, look-alikes that order their
//! streams themselves, and some that no order helps, since they use memory by its address. What must
//! be found in each is in `tests/corpus.rs`.

// Layers, the top one first; a module imports only from lines below its own.
//
//   address, aliases, events, graphs, host, loaders, peers, reuse, streams, views
//   lab
mod address;
mod aliases;
mod events;
mod graphs;
mod host;
mod lab;
mod loaders;
mod peers;
mod reuse;
mod streams;
mod views;

pub use lab::{Lab, NamedPrograms, RaceProgram, Result};

/// Programs in which nothing orders two accesses but the runtime's default order.
pub const RACY: &[NamedPrograms] = &[
    views::RACY,
    events::RACY,
    streams::RACY,
    reuse::RACY,
    host::RACY,
    peers::RACY,
    loaders::RACY,
    graphs::RACY,
];

/// Programs that look alike, and order everything themselves.
pub const ORDERED: &[NamedPrograms] = &[
    views::ORDERED,
    events::ORDERED,
    streams::ORDERED,
    reuse::ORDERED,
    host::ORDERED,
    peers::ORDERED,
    loaders::ORDERED,
    graphs::ORDERED,
    address::ORDERED,
    aliases::ORDERED,
];

/// Programs with a race that default order cannot see.
pub const RACY_IN_EVERY_ORDER: &[NamedPrograms] = &[address::RACY, aliases::RACY];
