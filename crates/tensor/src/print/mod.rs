//! Tensors as text, as PyTorch prints them with its default options.

mod lines;
mod number;
mod summary;

use std::fmt;

use lines::Lines;
use number::Numbers;

use crate::autograd::no_grad;
use crate::default::default_dtype;
use crate::{DType, Result, Tensor};

/// The width of a line in columns.
const LINE_WIDTH: usize = 80;
const PREFIX: &str = "tensor(";

/// The values as PyTorch prints them, then `device='cuda:0'` for a tensor on CUDA, the dtype where
/// the values do not tell it, and the tensor's part in the graph. Waits for the values of a tensor
/// on CUDA. Values that cannot be read are replaced by the reason.
///
/// ```
/// let x = tensor::tensor![[1.0, 2.5], [-3.0, 4.0]]?;
/// assert_eq!(x.to_string(), "tensor([[ 1.0000,  2.5000],\n        [-3.0000,  4.0000]])");
/// # Ok::<(), tensor::Error>(())
/// ```
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = no_grad(|| values(self)).unwrap_or_else(|error| format!("<{error}>"));
        let mut text = format!("{PREFIX}{body}");
        append(&mut text, &suffixes(self));
        f.write_str(&text)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn values(tensor: &Tensor) -> Result<String> {
    if tensor.numel() == 0 {
        return Ok("[]".to_owned());
    }
    let (shown, elided) = summary::of(tensor)?;
    let numbers = Numbers::read(&shown)?;
    Ok(Lines { numbers: &numbers, shape: shown.shape(), elided: &elided }.write(PREFIX.len()))
}

/// The properties that stand behind the values, in PyTorch's order.
fn suffixes(tensor: &Tensor) -> Vec<String> {
    let mut suffixes = Vec::new();
    if tensor.is_cuda() {
        suffixes.push(format!("device='{}'", tensor.device()));
    }
    let dtype = tensor.dtype();
    let told_by_values = if tensor.numel() == 0 {
        if tensor.dims() != 1 {
            suffixes.push(format!("size={}", python_tuple(tensor.shape())));
        }
        dtype == default_dtype()
    } else {
        dtype == default_dtype() || matches!(dtype, DType::I64 | DType::Bool)
    };
    if !told_by_values {
        suffixes.push(format!("dtype=torch.{dtype}"));
    }
    match tensor.grad_fn() {
        Some(op) => suffixes.push(format!("grad_fn=<{}Backward0>", camel_case(op))),
        None if tensor.requires_grad() => suffixes.push("requires_grad=True".to_owned()),
        None => {}
    }
    suffixes
}

/// Appends the suffixes, each on the last line if it has room, else on a line of its own.
fn append(text: &mut String, suffixes: &[String]) {
    // PyTorch counts from the newline itself, and one more on the first line.
    let mut used = match text.rfind('\n') {
        Some(newline) => text.len() - newline + 1,
        None => text.len() + 2,
    };
    for suffix in suffixes {
        if used + suffix.len() + 2 > LINE_WIDTH {
            let indent = " ".repeat(PREFIX.len());
            text.push_str(",\n");
            text.push_str(&indent);
            used = indent.len() + suffix.len();
        } else {
            text.push_str(", ");
            used += suffix.len() + 2;
        }
        text.push_str(suffix);
    }
    text.push(')');
}

/// `(2, 0)`, and `(3,)` for one.
fn python_tuple(sizes: &[usize]) -> String {
    let list: Vec<String> = sizes.iter().map(usize::to_string).collect();
    match &list[..] {
        [one] => format!("({one},)"),
        _ => format!("({})", list.join(", ")),
    }
}

/// `log_softmax` becomes `LogSoftmax`.
fn camel_case(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_that_does_not_fit_begins_a_line() {
        let mut text = format!("{PREFIX}{}", "1".repeat(51));
        append(&mut text, &["dtype=torch.float64".to_owned(), "requires_grad=True".to_owned()]);
        let (first, second) = text.split_once('\n').expect("two lines");
        assert!(first.ends_with("1,"));
        assert_eq!(second, "       dtype=torch.float64, requires_grad=True)");
    }

    #[test]
    fn names_are_written_as_pytorch_names_its_nodes() {
        assert_eq!(camel_case("log_softmax"), "LogSoftmax");
        assert_eq!(camel_case("add"), "Add");
    }
}
