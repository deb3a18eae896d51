//! Types that both headers have are of one size and alignment.

macro_rules! same_layout {
    ($($name:ident)*) => {
        $(
            assert_eq!(
                (size_of::<cuda_driver_sys::$name>(), align_of::<cuda_driver_sys::$name>()),
                (size_of::<cuda_sys::$name>(), align_of::<cuda_sys::$name>()),
                stringify!($name)
            );
        )*
    };
}

#[test]
fn types_have_the_same_layout() {
    same_layout!(
        CUcontext CUdevice CUdevice_P2PAttribute CUdevice_attribute CUdeviceptr CUevent CUfunction
        CUfunction_attribute CUhostFn CUjit_option CUmodule CUoccupancyB2DSize CUpointer_attribute
        CUresult CUstream CUuuid
    );
}
