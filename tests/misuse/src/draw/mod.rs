//! Arguments, drawn at random: mostly plausible, often at the edge, sometimes absurd.
//!
//! What can be drawn has a method here, named in `tests/surface/src/entry.rs` beside the type that
//! it is drawn for. A method gives nothing where there is none to be had, as when the device is
//! lost.

mod devices;
mod models;
mod numbers;
mod rng;
mod tensors;

pub(crate) use self::rng::Rng;

use std::fmt::Debug;

use tensor::Tensor;

/// The source of the arguments of one case.
pub(crate) struct Draw {
    rng: Rng,
    /// Tensors of this case: others are drawn to fit them, or are views of them.
    seen: Vec<Tensor>,
    /// Whether to tell what is drawn.
    tells: bool,
}

impl Draw {
    pub(crate) fn new(rng: Rng, tells: bool) -> Draw {
        Draw { rng, seen: Vec::new(), tells }
    }

    pub(crate) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Says what was drawn, where somebody wants to know.
    fn told<T: Debug>(&self, what: &str, value: T) -> T {
        if self.tells {
            println!("  {what} {value:?}");
        }
        value
    }
}

/// The work of closures that are passed to functions, which needs the thread's settings.
pub(crate) fn small_work() {
    let made = Tensor::ones([3], ()).and_then(|x| x.add(1.0));
    drop(std::hint::black_box(made));
}
