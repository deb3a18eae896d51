//! Memory tags: what memory is for, in the program's own words.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

use parking_lot::Mutex;

use crate::nested::Nested;

thread_local! {
    static CURRENT: Cell<Option<Tag>> = const { Cell::new(None) };
    /// All that were begun and not ended.
    static TAGS: RefCell<Nested<Tag>> = const { RefCell::new(Nested::new()) };
}

/// The name of what memory is for. Tags of the same name are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tag(&'static str);

impl Tag {
    /// The name.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// The tag of that name, which is kept for the rest of the process.
    fn of(name: &str) -> Tag {
        static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut names = NAMES.lock();
        if let Some(known) = names.get(name) {
            return Tag(known);
        }
        let name = Box::leak(name.to_owned().into_boxed_str());
        names.insert(name);
        Tag(name)
    }

    /// The calling thread's innermost tag.
    #[inline]
    pub(crate) fn current() -> Option<Tag> {
        CURRENT.get()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Ends a tag when dropped; see [`memory_tag`]. Guards may be dropped in any order: each ends its own
/// tag, and the last that is left holds.
#[must_use = "the tag ends when this is dropped"]
#[derive(Debug)]
pub struct MemoryTag {
    name: Option<u64>,
    /// It stays in its thread.
    _not_send: PhantomData<*const ()>,
}

/// Says what the memory is for that the calling thread allocates from now on, until the guard is
/// dropped: "weights", "activations". Of several, nested in each other, the innermost holds.
///
/// Memory keeps its tag for as long as it is held, whatever the thread does later. Snapshots, the
/// memory history and [out-of-memory errors](crate::OutOfMemory) show it beside the place in the
/// source. [Ranges](gpu_runtime::range) are something else: they say when work is done, and end
/// with it.
///
/// A name is kept for the rest of the process, so use few. A tag costs an allocation the reading of
/// a thread-local variable.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// let device = gpu_runtime::Device::get(0)?;
/// let stream = device.current_stream()?;
/// let weights = {
///     let _tag = gpu_alloc::memory_tag("weights");
///     gpu_alloc::allocate(device, 1 << 20, &stream)?
/// };
/// let snapshot = gpu_alloc::memory_snapshot();
/// assert_eq!(snapshot.segments[0].blocks[0].tag.as_deref(), Some("weights"));
/// # drop(weights);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
pub fn memory_tag(name: &str) -> MemoryTag {
    let tag = Tag::of(name);
    // At the very end of the thread, in destructors, there may be no tags any more.
    let name = TAGS.try_with(|tags| tags.borrow_mut().begin(tag)).ok();
    if name.is_some() {
        CURRENT.set(Some(tag));
    }
    MemoryTag { name, _not_send: PhantomData }
}

/// [`memory_tag`] for as long as `f` runs.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// use gpu_alloc::{allocate, with_memory_tag};
///
/// let device = gpu_runtime::Device::get(0)?;
/// let stream = device.current_stream()?;
/// let weights = with_memory_tag("weights", || allocate(device, 1 << 20, &stream))?;
/// # drop(weights);
/// # Ok::<(), gpu_alloc::Error>(())
/// ```
pub fn with_memory_tag<R>(name: &str, f: impl FnOnce() -> R) -> R {
    let _tag = memory_tag(name);
    f()
}

impl Drop for MemoryTag {
    fn drop(&mut self) {
        let Some(name) = self.name else { return };
        // At the end of the thread there may be no tags any more.
        let left = TAGS.try_with(|tags| {
            let mut tags = tags.borrow_mut();
            tags.end(name);
            tags.last().copied()
        });
        CURRENT.set(left.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_tag_holds_until_it_ends() {
        let name = || Tag::current().map(Tag::name);
        assert_eq!(name(), None);
        let outer = memory_tag("weights");
        {
            let _inner = memory_tag("activations");
            assert_eq!(name(), Some("activations"));
        }
        assert_eq!(name(), Some("weights"));
        drop(outer);
        assert_eq!(name(), None);
    }

    #[test]
    fn guards_that_are_dropped_out_of_order_leave_no_tag() {
        let name = || Tag::current().map(Tag::name);
        let (outer, inner) = (memory_tag("outer"), memory_tag("inner"));
        drop(outer);
        assert_eq!(name(), Some("inner"));
        drop(inner);
        assert_eq!(name(), None);
    }

    #[test]
    fn tags_of_one_name_are_equal() {
        assert_eq!(Tag::of("a"), Tag::of(&String::from("a")));
        assert_ne!(Tag::of("a"), Tag::of("b"));
    }
}
