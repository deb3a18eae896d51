//! What libraries keep for reuse, so that it is not told as the program's leak.

use cuda_check::CacheLister;

/// Says that a library keeps an object of the driver's for reuse as long as it exists, by its handle.
/// The list of what was not given back, which checked mode prints when the process ends, is of the
/// program's own leaks, and leaves it out.
pub fn keep_object(handle: u64) {
    cuda_check::keep_object(handle);
}

/// Registers a function that says, when the process ends and checked mode looks for leaks, what a
/// library keeps for reuse at that time. It is called once, while other threads may still run: it
/// must wait for none of them.
///
/// ```
/// use cuda_sim::control::{CachedResource, ask_what_is_kept};
///
/// ask_what_is_kept(|tell| tell(CachedResource::Memory(0x1000..0x2000)));
/// ```
pub fn ask_what_is_kept(who: CacheLister) {
    cuda_check::ask_at_the_end(who);
}
