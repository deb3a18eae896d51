//! Losses: the distance between predictions and targets, as one number or one for each prediction.
//!
//! Those of two tensors of one shape are elementwise operations, whose results are then reduced.

mod binary;
mod classes;
mod ctc;
mod distances;
mod margins;
mod multiple;
mod reduction;

pub use reduction::Reduction;

/// Makes two methods of each loss: one with PyTorch's defaults, and one that takes the parameters
/// and the [`Reduction`]. The function gives the losses before they are reduced.
macro_rules! losses {
    ($($(#[$doc:meta])* $name:ident, $with:ident($($tensor:ident),*; $($parameter:ident: $type:ty = $default:expr),*)
        = $losses:path;)*) => {
        impl $crate::Tensor {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self, $($tensor: &$crate::Tensor),*) -> $crate::Result<$crate::Tensor> {
                self.$with($($tensor,)* $($default,)* $crate::Reduction::Mean)
            }

            #[doc = concat!("[`Tensor::", stringify!($name), "`] with these parameters, and another reduction.")]
            #[doc = ""]
            #[doc = "# Errors"]
            #[doc = concat!("As [`Tensor::", stringify!($name), "`]; or a parameter makes no sense.")]
            #[track_caller]
            pub fn $with(
                &self,
                $($tensor: &$crate::Tensor,)*
                $($parameter: $type,)*
                reduction: $crate::Reduction,
            ) -> $crate::Result<$crate::Tensor> {
                let cast = $crate::ops::autocast(stringify!($name), [self $(, $tensor)*])?;
                let [own $(, $tensor)*] = cast.operands();
                reduction.of(&$losses(own, $($tensor,)* $($parameter,)*)?)
            }
        )*}
    };
}

use losses;
