//! The layers, a file each.

mod dropout;
mod flatten;
mod linear;
mod relu;
mod sequential;

pub use dropout::Dropout;
pub use flatten::Flatten;
pub use linear::Linear;
pub use relu::ReLU;
pub use sequential::Sequential;

/// The visiting methods of a module without parameters.
macro_rules! no_parameters {
    () => {
        fn visit(&self, _: &mut dyn FnMut(&str, &Tensor)) {}

        fn visit_mut(&mut self, _: &mut dyn FnMut(&str, &mut Tensor) -> Result<()>) -> Result<()> {
            Ok(())
        }
    };
}
use no_parameters;
