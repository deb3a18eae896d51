//! Modules, layers, losses and initial values (`torch.nn`).

pub use nn::{
    Dropout, Flatten, Linear, Module, ReLU, Sequential, StateDict, StateError, init, loss,
};
