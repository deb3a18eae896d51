//! Special functions that are composed of primitives: by rational functions, series and asymptotic
//! forms, of which all are evaluated and one is taken.

mod airy;
mod bessel;
mod modified_bessel;
mod normal;
mod polynomial;
mod zeta;
