//! The errors of files, by kind. Each names the file, and the tensor where there is one.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of reading or writing a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file could not be read or written.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused.
    #[error("{}: cannot {action}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The thing that was tried.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is not of the format, or it is damaged.
    #[error("{}: this is no {format} file, or a damaged one: {problem}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// The format.
        format: &'static str,
        /// The thing that is wrong.
        problem: String,
    },
    /// The file is of a kind that is not read here, although it may be a good one.
    #[error("{}: this is {found}, which is not read here: {advice}", file.display())]
    UnsupportedFile {
        /// The file.
        file: PathBuf,
        /// The kind.
        found: &'static str,
        /// A way out.
        advice: &'static str,
    },
    /// A pickle names a class or a function that is not needed for tensors. It could do anything,
    /// so nothing of it is run.
    #[error(
        "{}: it asks for `{module}.{name}`, and only tensors, numbers, texts, lists and dictionaries \
         are read; save a state_dict() and nothing else, or convert the rest to numbers first",
        file.display()
    )]
    Global {
        /// The file.
        file: PathBuf,
        /// The module, as it stands there.
        module: String,
        /// The name in the module.
        name: String,
    },
    /// A tensor has elements of a type that there is not.
    #[error("{}: tensor `{tensor}` is of {dtype}: {advice}", file.display())]
    UnsupportedDType {
        /// The file.
        file: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// The type, as the format calls it.
        dtype: String,
        /// A way out.
        advice: &'static str,
    },
    /// There is no tensor of this name.
    #[error("{}: there is no tensor `{tensor}`; {}", file.display(), ListedNames(names))]
    NoSuchTensor {
        /// The file.
        file: PathBuf,
        /// The name that was asked for.
        tensor: String,
        /// Some of the names that there are.
        names: Vec<String>,
    },
    /// A tensor has a name that the format cannot have, or there are too many.
    #[error("{}: `{tensor}` cannot be written: {problem}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// The reason.
        problem: &'static str,
    },
    /// A model in several files is there already. They could not all be replaced at once.
    #[error(
        "{}: there is a model in several files already, which cannot all be replaced at once; save \
         into another folder, or remove this file first",
        file.display()
    )]
    Exists {
        /// The index of the model that is there.
        file: PathBuf,
    },
    /// A tensor could not be made, or its elements could not be fetched.
    #[error("{}: tensor `{tensor}`: {source}", file.display())]
    Tensor {
        /// The file.
        file: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// The reason.
        source: Box<tensor::Error>,
    },
}

/// An error that `main` returns is printed by `Debug`, so that says the same as `Display`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Error> for tensor::Error {
    fn from(error: Error) -> tensor::Error {
        tensor::Error::other(error)
    }
}

impl Error {
    /// The error of something that the system refused.
    pub(crate) fn io(file: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let file = file.to_owned();
        move |source| Error::Io { file, action, source }
    }

    /// The error of a tensor that could not be made or fetched.
    pub(crate) fn tensor(file: &Path, tensor: &str) -> impl FnOnce(tensor::Error) -> Error {
        let (file, tensor) = (file.to_owned(), tensor.to_owned());
        move |source| Error::Tensor { file, tensor, source: Box::new(source) }
    }

    /// The error of a name that is not there. `names` are those that are.
    pub(crate) fn no_such_tensor<'a>(
        file: &Path,
        tensor: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Error {
        let mut names: Vec<_> = names.collect();
        // Those that share most with it come first: its beginning or its end.
        names.sort_by_key(|name| std::cmp::Reverse(alike(name, tensor)));
        let names = names.into_iter().take(NAMES).map(str::to_owned).collect();
        Error::NoSuchTensor { file: file.to_owned(), tensor: tensor.to_owned(), names }
    }
}

/// The number of names that an error lists.
const NAMES: usize = 5;

/// The number of characters that two names have in common at their beginnings and ends.
fn alike(one: &str, two: &str) -> usize {
    let begin = one.chars().zip(two.chars()).take_while(|(a, b)| a == b).count();
    let end = one.chars().rev().zip(two.chars().rev()).take_while(|(a, b)| a == b).count();
    begin + end
}

/// Names in an error.
struct ListedNames<'a>(&'a [String]);

impl fmt::Display for ListedNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("there are none at all"),
            names => write!(f, "there are `{}`", names.join("`, `")),
        }
    }
}
