//! The text of a call of a function with arguments that are drawn, from its types.

use crate::function::{FunctionArgument, PublicFunction};

/// A kind of argument: the type as it is declared, the method of `Draw` that draws one, and what
/// stands before it in the call.
type KnownType = (&'static str, &'static str, &'static str);

const KINDS: [KnownType; 35] = [
    ("&Event", "event", "&"),
    ("&Graph", "graph", "&"),
    ("&StreamPoint", "point", "&"),
    ("&[isize]", "dims", "&"),
    ("&[usize]", "sizes", "&"),
    ("&str", "text", "&"),
    ("&[u8]", "bytes", "&"),
    ("Blocking", "blocking", ""),
    ("CaptureMode", "capture_mode", ""),
    ("DType", "dtype", ""),
    ("DevicePtr", "address", ""),
    ("Duration", "duration", ""),
    ("GeneratorState", "generator_state", ""),
    ("Option<Tensor>", "maybe_tensor", ""),
    ("Option<u64>", "maybe_number", ""),
    ("Option<usize>", "maybe_size", ""),
    ("Order", "order", ""),
    ("Range<usize>", "part", ""),
    ("StreamPoint", "point", ""),
    ("WaitMode", "wait_mode", ""),
    ("[u32;3]", "grid", ""),
    ("bool", "flag", ""),
    ("f64", "number", ""),
    ("i32", "small_integer", ""),
    ("i64", "integer", ""),
    ("impl Into<Dims>", "dims", ""),
    ("impl Into<ReduceDims>", "reduce_dims", ""),
    ("impl Into<Scalar>", "scalar", ""),
    ("impl Into<Steps>", "steps", ""),
    ("impl Into<f64>", "number", ""),
    ("isize", "dim", ""),
    ("u32", "small_size", ""),
    ("u64", "word", ""),
    ("u8", "byte", ""),
    ("usize", "size", ""),
];

/// The types of arguments in the crates from `tensor` up.
const OF_TENSORS: [KnownType; 12] = [
    ("&Stream", "tensor_stream", "&"),
    ("&Tensor", "tensor", "&"),
    ("Device", "device", ""),
    ("Tensor", "tensor", ""),
    ("Vec<Tensor>", "owned_tensors", ""),
    ("impl AsRef<Stream>", "tensor_stream", "&"),
    ("impl Into<Shape>", "shape", ""),
    ("impl Into<TensorOptions>", "options", ""),
    ("impl Into<To>", "target", ""),
    ("impl Into<ViewShape>", "view_shape", ""),
    ("impl IntoIterator<Item:Borrow<Tensor>>", "owned_tensors", ""),
    ("impl IntoIterator<Item=Device>", "devices", ""),
];

/// The types of arguments in the crates below `tensor`.
const OF_RUNTIME: [KnownType; 4] = [
    ("&Stream", "stream", "&"),
    ("Device", "cuda", ""),
    ("impl AsRef<Stream>", "stream", "&"),
    ("impl IntoIterator<Item=Device>", "cudas", ""),
];

/// The types that methods are called on: their public paths, and the methods that draw them.
const RECEIVERS: [(&str, &str); 23] = [
    ("gpu_alloc::DeviceMemory", "device_memory"),
    ("gpu_alloc::MemoryPool", "memory_pool"),
    ("gpu_alloc::PinnedMemory", "pinned_memory"),
    ("gpu_alloc::Snapshot", "snapshot"),
    ("gpu_runtime::Device", "cuda"),
    ("gpu_runtime::DevicePtr", "address"),
    ("gpu_runtime::Event", "event"),
    ("gpu_runtime::Graph", "graph"),
    ("gpu_runtime::LaunchConfig", "launch_config"),
    ("gpu_runtime::Stream", "stream"),
    ("gpu_runtime::StreamPoint", "point"),
    ("nn::optim::AdamBuilder", "adam"),
    ("nn::optim::SGDBuilder", "sgd"),
    ("tensor::DType", "dtype"),
    ("tensor::Device", "device"),
    ("tensor::Generator", "generator"),
    ("tensor::ReduceDims", "reduce_dims"),
    ("tensor::Scalar", "scalar"),
    ("tensor::Shape", "shape"),
    ("tensor::Tensor", "tensor"),
    ("tensor::TensorOptions", "options"),
    ("tensor::ViewShape", "view_shape"),
    ("tensor::cuda::Stream", "tensor_stream"),
];

impl PublicFunction {
    /// The Rust expression with which `tests/misuse` calls the function with arguments that it
    /// draws; nothing if it cannot draw them.
    #[must_use]
    pub fn entry(&self) -> Option<String> {
        of(self)
    }
}

/// A call of a closure `|d|`, which takes the arguments from `d` and gives it the result.
fn of(function: &PublicFunction) -> Option<String> {
    if function.is_unsafe || function.is_generic || function.is_of_trait {
        return None;
    }
    let mut text = String::new();
    let mut call = match &function.receiver {
        Some(receiver) if receiver.is_generic => return None,
        Some(receiver) => {
            let (_, draw) = RECEIVERS.iter().find(|(path, _)| *path == receiver.path)?;
            let change = if receiver.taken == "&mut self" { "mut " } else { "" };
            text += &format!(" let {change}this = d.{draw}()?;");
            let (_, method) = function.path.rsplit_once("::")?;
            format!("this.{method}(")
        }
        None => format!("{}(", function.path),
    };
    let (krate, _) = function.path.split_once("::")?;
    for (number, argument) in function.arguments.iter().enumerate() {
        let name = format!("a{number}");
        let (drawn, passed) = argument_of(krate, argument, &name)?;
        if let Some(drawn) = drawn {
            text += &format!(" let {name} = d.{drawn}()?;");
        }
        call += &format!("{passed}, ");
    }
    let uses = if text.is_empty() { "_" } else { "d" };
    let call = handed_over(&function.result, &(call + ")"));
    Some(format!("|{uses}| {{{text} {call} Some(()) }}"))
}

/// The method of `Draw` for an argument, if it is drawn, and the text that is passed.
fn argument_of(
    krate: &str,
    argument: &FunctionArgument,
    name: &str,
) -> Option<(Option<&'static str>, String)> {
    let kind = argument.kind.as_str();
    if kind.starts_with("impl FnOnce()->R") || kind == "impl FnOnce()+Send" {
        return Some((None, "crate::draw::small_work".to_owned()));
    }
    if kind == "impl Into<TensorOrScalar>" {
        return Some((Some("operand"), format!("{name}.get()")));
    }
    if (kind, argument.name.as_str()) == ("&Tensor", "index") {
        return Some((Some("index"), format!("&{name}")));
    }
    if kind == "impl AsRef<[T]>" {
        return Some((Some("owned_tensors"), name.to_owned()));
    }
    if kind == "&[&Tensor]" {
        return Some((Some("owned_tensors"), format!("&{name}.iter().collect::<Vec<_>>()")));
    }
    let of_floor: &[KnownType] = if krate.starts_with("gpu_") { &OF_RUNTIME } else { &OF_TENSORS };
    let known = KINDS.iter().chain(of_floor).find(|(declared, ..)| *declared == kind);
    known.map(|(_, draw, before)| (Some(*draw), format!("{before}{name}")))
}

/// The text of a statement that uses the result of a call: tensors are looked at, all else is
/// dropped.
fn handed_over(result: &str, call: &str) -> String {
    match result {
        "Result<Tensor>" => format!("d.look({call}.ok());"),
        "Option<Tensor>" => format!("d.look({call});"),
        "Result<Vec<Tensor>>" => format!("d.look_at_all({call});"),
        "" => format!("{call};"),
        _ => format!("let _ = std::hint::black_box({call});"),
    }
}

#[cfg(test)]
mod tests {
    use crate::functions;

    fn entry(krate: &str, text: &str) -> Option<String> {
        let text = text.to_owned();
        let found = functions(krate, "lib.rs", &|_| Some(text.clone())).expect("it can be parsed");
        found[0].entry()
    }

    #[test]
    fn a_method_of_known_types_is_called_with_what_is_drawn() {
        let text = "pub struct Tensor; impl Tensor {\
                    pub fn sum(&self, dims: &[isize], keep: bool) -> Result<Tensor> {} }";
        let expected = "|d| { let this = d.tensor()?; let a0 = d.dims()?; let a1 = d.flag()?; \
                        d.look(this.sum(&a0, a1, ).ok()); Some(()) }";
        assert_eq!(entry("tensor", text).as_deref(), Some(expected));
    }

    #[test]
    fn a_device_is_what_the_floor_calls_so() {
        let text = "pub fn reset(device: Device) {}";
        assert!(entry("tensor", text).is_some_and(|entry| entry.contains("d.device()")));
        assert!(entry("gpu_alloc", text).is_some_and(|entry| entry.contains("d.cuda()")));
    }

    #[test]
    fn what_cannot_be_drawn_has_no_entry() {
        assert_eq!(entry("tensor", "pub fn f(a: Strange) {}"), None);
        assert_eq!(entry("tensor", "pub fn f<T>() -> T {}"), None);
        assert_eq!(entry("tensor", "pub unsafe fn f(a: usize) {}"), None);
    }
}
