//! The functions of the driver's table as values, for what counts them or makes them fail.

macro_rules! define_functions {
    (
        required { $(fn $name:ident $arguments:tt -> $result:ty;)* }
        optional { $(fn $newer:ident $its_arguments:tt -> $answer:ty;)* }
    ) => {
        /// A function of the table.
        #[allow(non_camel_case_types, reason = "the names of the C API")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum DriverFunction {
            $($name,)*
            $($newer,)*
        }

        impl DriverFunction {
            /// The exported names, in the order of the variants.
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name),)* $(stringify!($newer),)*];
        }
    };
}

cuda_sys::for_each_driver_function!(define_functions);

impl DriverFunction {
    /// The name that the function is exported by.
    pub(crate) fn name(self) -> &'static str {
        DriverFunction::NAMES[self as usize]
    }
}
