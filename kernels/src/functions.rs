//! The functions of `scalar.cu` as text.

use std::ops::Range;

use crate::packed::Packed;

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// A function of single values: its PTX is nvcc's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarFunction {
    item: usize,
    needs: &'static [usize],
}

impl ScalarFunction {
    /// The definition, a `.func` whose parameters and whose result are named as nvcc names them.
    pub fn text(&self) -> &'static str {
        scalar_item(self.item)
    }

    /// The number of the [`scalar_item`] that is the definition.
    pub fn item(&self) -> usize {
        self.item
    }

    /// Whatever else a module has to contain that contains the function's body: numbers of
    /// [`scalar_item`]s, in the order in which those have to stand.
    pub fn needs(&self) -> &'static [usize] {
        self.needs
    }
}

/// The function with a name, such as `exp_f32`: a primitive of the crate `expression` and the type
/// that it is computed in.
///
/// ```
/// let sine = kernels::scalar_function("sin_f32").expect("there is such a function");
/// assert!(sine.text().starts_with(".func  (.param .b32 func_retval0) sin_f32("));
/// let table = kernels::scalar_item(sine.needs()[0]);
/// assert!(table.starts_with(".global .align 4 .b8 __cudart_i2opi_f"));
/// ```
pub fn scalar_function(name: &str) -> Option<ScalarFunction> {
    let position = FUNCTIONS.binary_search_by_key(&name, |&(name, _)| name).ok()?;
    Some(FUNCTIONS[position].1)
}

/// The number of bytes that the crate embeds for them.
pub(crate) fn embedded_bytes() -> usize {
    ITEMS.embedded()
}

/// A function, a declaration or a variable of `scalar.cu`, by its number.
///
/// # Panics
/// There is no item with that number.
pub fn scalar_item(number: usize) -> &'static str {
    let text = &ITEMS.bytes()[PLACES[number].clone()];
    str::from_utf8(text).expect("PTX is ASCII, and items begin where they begin")
}
