//! Modules, losses and optimizers.
