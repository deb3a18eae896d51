//! A public function, as it is declared.

/// A public function or method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicFunction {
    /// The shortest path that a program can write: `tensor::Tensor::cat`.
    pub path: String,
    /// The file that declares it, as it was asked for.
    pub file: String,
    /// The line in that file, from 1.
    pub line: usize,
    /// The receiver, if it is a method.
    pub receiver: Option<Receiver>,
    /// The other arguments.
    pub arguments: Vec<FunctionArgument>,
    /// The type of the result, empty for `()`.
    pub result: String,
    /// Whether the caller must promise something.
    pub is_unsafe: bool,
    /// Whether it has parameters of types or constants that an argument does not settle.
    pub is_generic: bool,
    /// Whether a trait declares it.
    pub is_of_trait: bool,
}

/// An argument of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionArgument {
    /// Its name; empty for a pattern.
    pub name: String,
    /// Its type, without lifetimes: `&[&Tensor]`.
    pub kind: String,
}

/// The receiver of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// The type's public path: `tensor::Tensor`.
    pub path: String,
    /// The form in which the method takes it: `self`, `&self`, `&mut self`, or a type such as
    /// `&Arc<Self>`.
    pub taken: String,
    /// Whether the type has parameters of its own: `DeviceBuffer<T>`.
    pub is_generic: bool,
}

impl PublicFunction {
    /// Whether the function takes something besides the value that it is called on.
    #[must_use]
    pub fn takes_values(&self) -> bool {
        !self.arguments.is_empty()
    }
}
