//! Options that ask for something, and decide nothing here.

/// Beginnings of options' names, the longer first, each with its warning.
const WARNINGS: [(&str, &str); 4] = [
    ("release_lock_on_cudamalloc", "release_lock_on_cudamalloc does nothing here"),
    (
        "graph_capture_record_stream_reuse",
        "graph_capture_record_stream_reuse does nothing here: graphs reuse what their order allows",
    ),
    (
        "pinned_max_cached_size_mb",
        "pinned_max_cached_size_mb does nothing here: set_pinned_cache_limit() does that",
    ),
    ("pinned_", "options of page-locked memory do nothing here: it has an allocator of its own"),
];

/// A bit for each of them that was set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Inert(u8);

impl Inert {
    /// Notes that an option was set.
    pub(super) fn add(&mut self, key: &str) {
        let found = WARNINGS.iter().position(|(begin, _)| key.starts_with(begin));
        self.0 |= found.map_or(0, |number| 1 << number);
    }

    /// The warnings about options that change nothing here.
    pub(super) fn warnings(self) -> impl Iterator<Item = &'static str> {
        let set = move |number: &usize| self.0 >> number & 1 == 1;
        (0..WARNINGS.len()).filter(set).map(|number| WARNINGS[number].1)
    }
}
