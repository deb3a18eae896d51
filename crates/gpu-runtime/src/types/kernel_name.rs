//! The names of kernels, each kept once.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::LazyLock;

use parking_lot::{Mutex, MutexGuard};

/// The name of a kernel in its module: a string that is as cheap to pass on as a number.
///
/// Every name is kept once, until the process ends, so that a stream can remember its newest
/// launches without counting who knows their names, and a late error can name a kernel whose
/// module is gone.
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// # let ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry empty() { ret; }";
/// let module = gpu_runtime::Device::get(0)?.load(ptx)?;
/// let name = module.function("empty")?.kernel_name();
/// drop(module);
/// assert_eq!(&*name, "empty");
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelName {
    text: &'static str,
    /// Its place in the table.
    number: u32,
}

#[derive(Default)]
struct Names {
    all: Vec<&'static str>,
    numbers: HashMap<&'static str, u32>,
}

static NAMES: LazyLock<Mutex<Names>> = LazyLock::new(Mutex::default);

impl KernelName {
    /// The name with this text.
    pub(crate) fn of(text: &str) -> KernelName {
        let mut names = names();
        if let Some((&text, &number)) = names.numbers.get_key_value(text) {
            return KernelName { text, number };
        }
        let text: &'static str = String::from(text).leak();
        // There is no memory for four thousand million names.
        let number = names.all.len() as u32;
        names.all.push(text);
        names.numbers.insert(text, number);
        KernelName { text, number }
    }

    /// The name at a place in the table.
    pub(crate) fn at(number: u32) -> Option<KernelName> {
        let text = *names().all.get(number as usize)?;
        Some(KernelName { text, number })
    }

    pub(crate) fn number(self) -> u32 {
        self.number
    }
}

fn names() -> MutexGuard<'static, Names> {
    NAMES.lock()
}

impl Deref for KernelName {
    type Target = str;

    fn deref(&self) -> &str {
        self.text
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl fmt::Debug for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::KernelName;

    #[test]
    fn equal_names_are_one_and_are_found_by_their_number() {
        let [one, same, other] = ["scale", "scale", "shift"].map(KernelName::of);
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(KernelName::at(one.number()), Some(one));
        assert_eq!(&*other, "shift");
    }
}
