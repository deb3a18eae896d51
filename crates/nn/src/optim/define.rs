//! The macro that makes an optimizer of its options and its rule.

/// Declares an optimizer: its type, its builder, and the options with PyTorch's names and defaults.
/// Each option is a `number`, `numbers` or a `flag`, with the documentation of the builder's method
/// that sets it; a `hidden` one has no such method, or one that the file writes itself.
///
/// ```text
/// optimizer! {
///     /// The documentation of the optimizer.
///     Adam, built by AdamBuilder, with Options, by the rule AdamRule; lr = 1e-3;
///     /// The documentation of `AdamBuilder::eps`.
///     number eps = 1e-8, in NOT_NEGATIVE;
/// }
/// ```
macro_rules! optimizer {
    (
        $(#[$doc:meta])*
        $name:ident, built by $builder:ident, with $options:ident, by the rule $rule:ty;
        lr = $lr:expr;
        $($(#[$option_doc:meta])* $kind:ident $option:ident $(($($part:ident),+))? = $default:expr
            $(, in $domain:ident)?;)*
    ) => {
        $(#[$doc])*
        pub struct $name {
            groups: $crate::optim::groups::ParameterGroups<$rule>,
        }

        #[doc = concat!("A builder of [`", stringify!($name), "`].")]
        #[must_use = "call `build`"]
        pub struct $builder {
            groups: $crate::optim::groups::GroupsBuilder<$options>,
        }

        #[derive(Clone, Copy, Debug)]
        pub(super) struct $options {
            pub(super) lr: f64,
            $(pub(super) $option: optimizer!(@type $kind $($($part)+)?),)*
        }

        impl $crate::optim::options::StepOptions for $options {
            fn lr(&mut self) -> &mut f64 {
                &mut self.lr
            }

            fn fields(&mut self) -> Vec<$crate::optim::options::OptionField<'_>> {
                use $crate::optim::options::{Domain, OptionField, OptionValue};
                vec![
                    OptionField {
                        name: "lr",
                        value: OptionValue::Number(&mut self.lr),
                        domain: Domain::NOT_NEGATIVE,
                    },
                    $(OptionField {
                        name: stringify!($option),
                        value: optimizer!(@value $kind (self.$option)),
                        domain: optimizer!(@domain $($domain)?),
                    },)*
                ]
            }
        }

        impl $name {
            /// PyTorch's default of the learning rate.
            pub const DEFAULT_LR: f64 = $lr;

            /// A builder with the learning rate `lr`, and PyTorch's defaults of all else. The
            /// parameters are tensors or references to them, like those of
            /// [`Module::parameters`](crate::Module).
            #[allow(clippy::new_ret_no_self, reason = "the optimizer is built from its options")]
            pub fn new(
                parameters: impl IntoIterator<Item: std::borrow::Borrow<tensor::Tensor>>,
                lr: f64,
            ) -> $builder {
                let options = $options { lr, $($option: $default,)* };
                let parameters = $crate::utils::collected(parameters);
                $builder { groups: $crate::optim::groups::GroupsBuilder::new(parameters, options) }
            }
        }

        impl $builder {
            $(optimizer! { @method $kind $option ($($($part)+)?) $(#[$option_doc])* })*
        }

        $crate::optim::define::optimizer_of_groups!($name, $builder);
    };

    (@type number) => { f64 };
    (@type hidden_number) => { f64 };
    (@type flag) => { bool };
    (@type hidden_flag) => { bool };
    (@type numbers $($part:ident)+) => { [f64; optimizer!(@count $($part)+)] };
    (@count $a:ident $b:ident) => { 2 };
    (@count $a:ident $b:ident $c:ident) => { 3 };

    (@value number ($value:expr)) => { OptionValue::Number(&mut $value) };
    (@value hidden_number ($value:expr)) => { OptionValue::Number(&mut $value) };
    (@value flag ($value:expr)) => { OptionValue::Flag(&mut $value) };
    (@value hidden_flag ($value:expr)) => { OptionValue::Flag(&mut $value) };
    (@value numbers ($value:expr)) => { OptionValue::Numbers(&mut $value) };

    (@domain) => { Domain::ANY };
    (@domain $domain:ident) => { Domain::$domain };

    (@method number $option:ident () $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn $option(mut self, $option: f64) -> Self {
            self.groups.options().$option = $option;
            self
        }
    };
    (@method numbers $option:ident ($($part:ident)+) $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn $option(mut self, $($part: f64),+) -> Self {
            self.groups.options().$option = [$($part),+];
            self
        }
    };
    (@method flag $option:ident () $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn $option(mut self) -> Self {
            self.groups.options().$option = true;
            self
        }
    };
    (@method hidden_number $option:ident ()) => {};
    (@method hidden_flag $option:ident ()) => {};
}

/// The methods that all optimizers have, of a type with a field `groups` of [`ParameterGroups`], and
/// those of its builder, with a field `groups` of [`GroupsBuilder`].
macro_rules! optimizer_of_groups {
    ($optimizer:ident, $builder:ident) => {
        impl $crate::optim::Optimizer for $optimizer {
            fn step(&mut self) -> $crate::Result<()> {
                self.groups.step()
            }

            fn parameters(&self) -> Vec<tensor::Tensor> {
                self.groups.parameters()
            }

            fn learning_rates(&self) -> Vec<f64> {
                self.groups.learning_rates()
            }

            fn set_learning_rates(&mut self, rates: &[f64]) -> $crate::Result<()> {
                self.groups.set_learning_rates(rates)
            }

            fn set_learning_rate(&mut self, rate: f64) {
                self.groups.set_learning_rate(rate);
            }

            fn momenta(&self) -> Option<Vec<f64>> {
                self.groups.momenta()
            }

            fn set_momentum(&mut self, momentum: f64) -> $crate::Result<()> {
                self.groups.set_momentum(momentum)
            }

            fn state_dict(&self) -> $crate::Result<$crate::StateDict> {
                self.groups.state_dict()
            }

            fn load_state_dict(
                &mut self,
                state: &$crate::StateDict,
            ) -> $crate::Result<(), $crate::StateError> {
                self.groups.load_state_dict(state)
            }
        }

        impl $crate::Stateful for $optimizer {
            fn state(&self) -> $crate::Result<$crate::StateDict> {
                self.groups.state_dict()
            }

            fn set_state(&mut self, state: &$crate::StateDict) -> $crate::Result<()> {
                Ok(self.groups.load_state_dict(state)?)
            }
        }

        impl std::fmt::Debug for $optimizer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.groups, f)
            }
        }

        impl $builder {
            /// Begins another group of parameters (`add_param_group`), with options of its own:
            /// those of the first group so far, and what is set from here on.
            ///
            /// ```
            #[doc = concat!("use nn::optim::{Optimizer, ", stringify!($optimizer), "};")]
            /// use nn::{Linear, Module};
            /// let (body, head) = (Linear::new(8, 4)?.without_bias(), Linear::new(4, 2)?.without_bias());
            #[doc = concat!("let optimizer = ", stringify!($optimizer), "::new(body.parameters(), 1e-4)")]
            ///     .param_group(head.parameters())
            ///     .lr(1e-2)
            ///     .build()?;
            /// assert_eq!(optimizer.learning_rates(), [1e-4, 1e-2]);
            /// # Ok::<(), tensor::Error>(())
            /// ```
            pub fn param_group(
                mut self,
                parameters: impl IntoIterator<Item: std::borrow::Borrow<tensor::Tensor>>,
            ) -> Self {
                self.groups.push($crate::utils::collected(parameters));
                self
            }

            /// Sets the learning rate, of a group that is to have another one than the first.
            pub fn lr(mut self, lr: f64) -> Self {
                self.groups.options().lr = lr;
                self
            }

            /// Builds the optimizer.
            ///
            /// # Errors
            /// A parameter is not a leaf or is given twice, or an option is out of its range or
            /// contradicts another.
            pub fn build(self) -> $crate::Result<$optimizer> {
                let groups = $crate::optim::groups::ParameterGroups::new(&self.groups)?;
                Ok($optimizer { groups })
            }
        }

        impl std::fmt::Debug for $builder {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.groups.describe(f, stringify!($builder))
            }
        }
    };
}

pub(super) use {optimizer, optimizer_of_groups};
