//! What programs are shown of a node's parameters: lists that stay where they are as long as the
//! node has these parameters.

use crate::device::KernelCall;

/// A buffer, and pointers into it.
#[derive(Debug)]
pub(crate) struct Shown {
    words: Box<[u64]>,
    pointers: Box<[usize]>,
}

impl Shown {
    /// A kernel's parameters, and a pointer to each.
    pub(crate) fn parameters(call: &KernelCall) -> Shown {
        let mut words = vec![0_u64; call.parameters.len().div_ceil(8)].into_boxed_slice();
        for (word, bytes) in words.iter_mut().zip(call.parameters.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(padded);
        }
        let start = words.as_ptr().expose_provenance();
        let parameters = call.function.parameters.iter();
        let pointers = parameters.map(|parameter| start + parameter.offset).collect();
        Shown { words, pointers }
    }

    /// A list of structures of as many words each.
    pub(crate) fn list<const N: usize>(items: impl Iterator<Item = [u64; N]>) -> Shown {
        Shown { words: items.flatten().collect(), pointers: Box::default() }
    }

    /// The list of pointers, null if it is empty.
    pub(crate) fn pointers<T>(&self) -> *mut *mut T {
        match self.pointers.is_empty() {
            true => std::ptr::null_mut(),
            false => self.pointers.as_ptr().cast_mut().cast(),
        }
    }

    /// The list of structures.
    pub(crate) fn items<T>(&self) -> *mut T {
        self.words.as_ptr().cast_mut().cast()
    }
}
