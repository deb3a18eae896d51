//! Calls whose arguments no table can draw: generic ones, chains of several, closures that do
//! something.

mod alloc;
mod attention;
mod collectives;
mod copies;
mod files;
mod functional;
mod fused;
mod graphs;
mod layers;
mod matrices;
mod nets;
mod operations;
mod policies;
mod replicas;
mod runtime;
mod selected;
mod sequences;
mod tensors;
mod training;
mod views;
mod windows;

use super::entry::CallEntry;

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static CallEntry> {
    let floors =
        [tensors::ENTRIES, nets::ENTRIES, alloc::ENTRIES, policies::ENTRIES, runtime::ENTRIES];
    floors
        .into_iter()
        .chain([
            attention::ENTRIES,
            collectives::ENTRIES,
            copies::ENTRIES,
            files::ENTRIES,
            functional::ENTRIES,
            fused::ENTRIES,
            graphs::ENTRIES,
            layers::ENTRIES,
            matrices::ENTRIES,
            operations::ENTRIES,
            replicas::ENTRIES,
            training::ENTRIES,
            selected::ENTRIES,
            sequences::ENTRIES,
            views::ENTRIES,
            windows::ENTRIES,
        ])
        .flatten()
}
