//! Links modules: several PTX texts become one, in which every name is defined.
//!
//! The result is what a linker of machine code would make of the same inputs, as text: functions and
//! variables that one input declares `.extern` are those that another defines, in whatever order
//! they come; what is defined `.weak` gives way; and a name without a linkage directive is its
//! input's own (PTX ISA 9.0, 11.6, "Linking Directives").

mod object;
mod output;
mod registers;
mod resolve;

use thiserror::Error;

use self::object::Object;
use self::output::write;
pub use self::registers::with_max_registers;
use self::resolve::Resolution;
use crate::error::Error;

/// A module to be linked.
#[derive(Clone, Copy, Debug)]
pub struct LinkInput<'s> {
    /// The name that errors call it by.
    pub name: &'s str,
    /// The PTX text.
    pub text: &'s str,
    /// Whether it is part of a library: it is left out unless it defines something that is missing
    /// without it.
    pub is_library: bool,
}

/// Why modules cannot be linked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LinkError {
    /// There is nothing to link.
    #[error("no input to link")]
    NoInput,
    /// An input is no PTX.
    #[error("{input}: {error}")]
    Malformed {
        /// The name of the input.
        input: String,
        /// The first location that is malformed.
        error: Error,
    },
    /// Names that are used, and that no input defines.
    #[error("{}", lines(.names, "undefined reference to"))]
    Undefined {
        /// Each name with that of an input that uses it.
        names: Vec<(String, String)>,
    },
    /// A name that two inputs define.
    #[error("multiple definition of `{name}` in `{second}`, first defined in `{first}`")]
    Duplicate {
        /// The name.
        name: String,
        /// The name of the first input that defines it.
        first: String,
        /// The name of the second.
        second: String,
    },
}

fn lines(names: &[(String, String)], what: &str) -> String {
    let lines = names.iter().map(|(name, input)| format!("{what} `{name}` in `{input}`"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Links modules to one, whose PTX version and target are the highest among theirs.
///
/// # Errors
/// The first input that is no PTX, the first name that is defined twice, or all names that are used
/// and defined nowhere.
///
/// ```
/// let input = |text| ptx::LinkInput { name: "input", text, is_library: false };
/// let caller = ".version 8.0 .target sm_75 .address_size 64
///               .extern .func f();
///               .visible .entry k() { call f; ret; }";
/// let callee = ".version 8.0 .target sm_80 .address_size 64 .visible .func f() { ret; }";
/// let linked = ptx::link(&[input(caller), input(callee)])?;
/// assert!(ptx::parse(&linked).is_ok_and(|module| module.functions.len() == 2));
/// assert!(ptx::link(&[input(caller)]).is_err());
/// # Ok::<(), ptx::LinkError>(())
/// ```
pub fn link(inputs: &[LinkInput<'_>]) -> Result<String, LinkError> {
    if inputs.is_empty() {
        return Err(LinkError::NoInput);
    }
    let mut objects = Vec::with_capacity(inputs.len());
    for input in inputs {
        let object = Object::read(input);
        objects.push(object.map_err(|error| {
            let input = input.name.to_owned();
            LinkError::Malformed { input, error }
        })?);
    }
    let objects = resolve::without_unneeded(objects);
    Ok(write(&objects, &Resolution::new(&objects)?))
}

/// The names that a module uses and does not define, apart from those that the driver provides.
///
/// # Errors
/// The first location that is malformed.
pub fn undefined_names(text: &str) -> Result<Vec<String>, Error> {
    let object = Object::read(&LinkInput { name: "", text, is_library: false })?;
    Ok(object.undefined().map(str::to_owned).collect())
}
