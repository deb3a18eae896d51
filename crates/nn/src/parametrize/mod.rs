//! Parameters that are computed from others (`torch.nn.utils.parametrize` and
//! `torch.nn.utils.parametrizations`).

mod spectral_norm;
mod weight_norm;

use std::fmt;

use tensor::{Error, Tensor, no_grad};

use crate::{Forward, Member, MemberMut, Module, Result};

pub use spectral_norm::SpectralNorm;
pub use weight_norm::WeightNorm;

/// A rule by which a parameter is computed from other tensors, its originals, which are trained in its
/// place. It is a module, whose buffers are part of the state.
///
/// ```
/// use nn::parametrize::{Parametrization, Parametrized};
/// use nn::{Linear, Module, Result};
/// use tensor::Tensor;
///
/// /// The upper triangle, mirrored.
/// #[derive(Clone, Module)]
/// struct Symmetric;
///
/// impl Parametrization for Symmetric {
///     fn originals(&mut self, tensor: &Tensor) -> Result<Vec<Tensor>> {
///         Ok(vec![tensor.clone()])
///     }
///
///     fn compute(&self, originals: &[Tensor]) -> Result<Tensor> {
///         let upper = originals[0].triu(0)?;
///         upper.add(&originals[0].triu(1)?.t()?)
///     }
/// }
///
/// let layer = Parametrized::new(Linear::new(3, 3)?, "weight", Symmetric)?;
/// assert!(layer.tensor()?.equal(&layer.tensor()?.t()?)?);
/// assert!(layer.state_dict().contains_key("parametrizations.weight.original"));
/// # Ok::<(), tensor::Error>(())
/// ```
pub trait Parametrization: Module {
    /// The originals of which [`compute`](Parametrization::compute) makes a tensor, or the one that is
    /// closest to it (`right_inverse`). It is called once, without recording, when the rule is registered;
    /// what the rule keeps of the tensor's shape is made then.
    ///
    /// # Errors
    /// There are no such originals.
    fn originals(&mut self, tensor: &Tensor) -> Result<Vec<Tensor>>;

    /// The parameter, from its originals.
    ///
    /// # Errors
    /// It cannot be computed.
    fn compute(&self, originals: &[Tensor]) -> Result<Tensor>;
}

/// A module one of whose parameters is computed from others each time that the module computes
/// (`register_parametrization`): the [`WeightNorm`] or [`SpectralNorm`] of it, or a
/// [`Parametrization`] of the program's own. Several parameters are parametrized one around the other.
///
/// The names are PyTorch's: `parametrizations.weight.original`, or `original0`, `original1` and so on where
/// there are several, in the place of `weight`. Optimizers are built afterwards, of the originals.
///
/// ```
/// use nn::parametrize::{Parametrized, WeightNorm};
/// use nn::{Forward, Linear, Module};
/// use tensor::Tensor;
/// let plain = Linear::new(3, 2)?;
/// let layer = Parametrized::new(plain.clone(), "weight", WeightNorm::new(0))?;
/// let names: Vec<_> = layer.named_parameters().into_iter().map(|(name, _)| name).collect();
/// let [size, direction] = ["original0", "original1"].map(|n| format!("parametrizations.weight.{n}"));
/// assert_eq!(names, ["bias".to_owned(), size, direction]);
/// let x = Tensor::randn([4, 3], ())?;
/// assert!(layer.forward(&x)?.allclose(&plain.forward(&x)?, 1e-5, 1e-6)?);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Parametrized<M, P> {
    /// The module, with a tensor without memory in the place of the parameter.
    module: M,
    /// The parameter's name.
    name: String,
    /// The name of the part that has the originals.
    path: String,
    part: ParametrizationList<P>,
}

impl<M: Module, P: Parametrization> Parametrized<M, P> {
    /// The module with a parameter of its own, not of modules inside, that is computed by a rule from now on.
    /// The originals require gradients if the parameter did.
    ///
    /// # Errors
    /// There is no such parameter; the rule has no originals for it, or computes a tensor of another shape,
    /// dtype or device.
    pub fn new(mut module: M, name: impl Into<String>, mut parametrization: P) -> Result<Self> {
        let name = name.into();
        let tensor = own_parameter(&module, &name)?;
        let originals = no_grad(|| parametrization.originals(&tensor))?;
        let originals = originals.into_iter().map(|original| {
            // The parameter itself stays the leaf that it is.
            if original.id() == tensor.id() {
                return Ok(original);
            }
            original.detach().requires_grad_(tensor.requires_grad())
        });
        let part =
            ParametrizationList { originals: originals.collect::<Result<_>>()?, parametrization };
        let computed = no_grad(|| part.compute())?;
        let form = |tensor: &Tensor| (tensor.shape().to_vec(), tensor.dtype(), tensor.device());
        if form(&computed) != form(&tensor) {
            return Err(Error::InvalidArgument {
                op: "Parametrized",
                argument: "parametrization",
                value: format!("one that makes {:?} of {:?}", form(&computed), form(&tensor)),
                why: "shape, dtype and device of the parameter must stay the same",
            });
        }
        let empty = Tensor::zeros((), (tensor.dtype(), tensor.device()))?.expand(tensor.shape())?;
        put(&mut module, &name, &empty)?;
        let path = format!("parametrizations.{name}");
        Ok(Parametrized { module, name, path, part })
    }

    /// The parameter as it is computed now; gradients flow back to the originals.
    ///
    /// # Errors
    /// Those of [`Parametrization::compute`].
    pub fn tensor(&self) -> Result<Tensor> {
        self.part.compute()
    }

    /// The rule.
    pub fn parametrization(&self) -> &P {
        &self.part.parametrization
    }

    /// The module without the rule, with the parameter as it is computed now (`remove_parametrizations`).
    ///
    /// # Errors
    /// Those of [`Parametrization::compute`].
    pub fn into_module(mut self) -> Result<M> {
        let is_trained = self.part.originals.iter().any(Tensor::requires_grad);
        let tensor = no_grad(|| self.part.compute()?.clone_data())?.requires_grad_(is_trained)?;
        put(&mut self.module, &self.name, &tensor)?;
        Ok(self.module)
    }
}

impl<M: Module, P: Parametrization> Module for Parametrized<M, P> {
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        self.module.visit(&mut |name, member| {
            if name != self.name {
                visitor(name, member);
            }
        });
        visitor(&self.path, Member::Module(&self.part));
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        self.module.visit_mut(&mut |name, member| {
            if name == self.name { Ok(()) } else { visitor(name, member) }
        })?;
        visitor(&self.path, MemberMut::Module(&mut self.part))
    }

    fn type_name(&self) -> &'static str {
        self.module.type_name()
    }

    fn extra_repr(&self) -> String {
        self.module.extra_repr()
    }
}

impl<I: ?Sized, M: Forward<I> + Clone, P: Parametrization> Forward<I> for Parametrized<M, P> {
    type Output = M::Output;

    #[track_caller]
    fn forward(&self, input: &I) -> Result<M::Output> {
        // A clone is handles; so threads that share the module do not see each other's tensors.
        let mut module = self.module.clone();
        put(&mut module, &self.name, &self.tensor()?)?;
        module.forward(input)
    }
}

impl<M: Module, P: Parametrization> fmt::Display for Parametrized<M, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self as &dyn Module, f)
    }
}

impl<M: Module, P: Parametrization> fmt::Debug for Parametrized<M, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The originals of a parameter, and the rule; it has PyTorch's name, as the printed form shows it.
#[derive(Clone)]
struct ParametrizationList<P> {
    originals: Vec<Tensor>,
    parametrization: P,
}

impl<P: Parametrization> ParametrizationList<P> {
    fn compute(&self) -> Result<Tensor> {
        self.parametrization.compute(&self.originals)
    }
}

impl<P: Parametrization> Module for ParametrizationList<P> {
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        let names = original_names(self.originals.len());
        for (name, original) in names.zip(&self.originals) {
            visitor(&name, Member::Parameter(original));
        }
        visitor("0", Member::Module(self.parametrization.as_module()));
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        let names = original_names(self.originals.len());
        for (name, original) in names.zip(&mut self.originals) {
            visitor(&name, MemberMut::Parameter(original))?;
        }
        visitor("0", MemberMut::Module(self.parametrization.as_module_mut()))
    }
}

/// `original`, or `original0`, `original1` and so on.
fn original_names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(move |number| match count {
        1 => "original".to_owned(),
        _ => format!("original{number}"),
    })
}

/// # Errors
/// The module has no parameter of that name.
fn own_parameter(module: &dyn Module, wanted: &str) -> Result<Tensor> {
    let (mut found, mut names) = (None, Vec::new());
    module.visit(&mut |name, member| {
        if let Member::Parameter(tensor) = member {
            names.push(name.to_owned());
            if name == wanted {
                found = Some(tensor.clone());
            }
        }
    });
    found.ok_or_else(|| Error::InvalidArgument {
        op: "Parametrized",
        argument: "name",
        value: format!("{wanted:?} in {}, whose parameters are {names:?}", module.type_name()),
        why: "it must be a parameter of the module itself",
    })
}

/// Puts a tensor in the place of a parameter.
fn put(module: &mut dyn Module, wanted: &str, tensor: &Tensor) -> Result<()> {
    module.visit_mut(&mut |name, member| {
        if let MemberMut::Parameter(place) = member
            && name == wanted
        {
            *place = tensor.clone();
        }
        Ok(())
    })
}

/// The originals of a rule of ours.
///
/// # Errors
/// There are not as many as it has made.
fn expect_originals<'a, const N: usize>(
    op: &'static str,
    originals: &'a [Tensor],
) -> Result<&'a [Tensor; N]> {
    originals.try_into().map_err(|_| Error::InvalidArgument {
        op,
        argument: "originals",
        value: format!("{} tensors", originals.len()),
        why: "there must be as many as `originals` gave",
    })
}
