//! The errors of the runtime API: their numbers, names and texts, and the driver's errors as such.

#![allow(non_upper_case_globals, non_camel_case_types, reason = "the names are C's")]

use std::ffi::{CStr, c_uint};

use cuda_sys::CUresult;

macro_rules! errors {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl cudaError_t {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                pub const $name: cudaError_t = cudaError_t($number);
            )*

            /// The name and the text of this number, if the runtime API has an error of it.
            pub(crate) fn described(self) -> Option<(&'static CStr, &'static CStr)> {
                let name = match self.0 {
                    $($number => (concat!(stringify!($name), "\0"), $text),)*
                    _ => return None,
                };
                CStr::from_bytes_with_nul(name.0.as_bytes()).ok().map(|known| (known, name.1))
            }
        }
    };
}

/// The result of a call of the runtime API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
#[must_use]
pub struct cudaError_t(pub c_uint);

/// The result of what is not yet an answer to the program.
pub(crate) type Result<T = ()> = std::result::Result<T, cudaError_t>;

errors! {
    cudaSuccess = 0, c"no error";
    cudaErrorInvalidValue = 1, c"invalid argument";
    cudaErrorMemoryAllocation = 2, c"out of memory";
    cudaErrorInitializationError = 3, c"initialization error";
    cudaErrorCudartUnloading = 4, c"driver shutting down";
    cudaErrorProfilerDisabled = 5, c"profiler disabled";
    cudaErrorProfilerNotInitialized = 6, c"profiler not initialized";
    cudaErrorProfilerAlreadyStarted = 7, c"profiler already started";
    cudaErrorProfilerAlreadyStopped = 8, c"profiler already stopped";
    cudaErrorInvalidConfiguration = 9, c"invalid configuration argument";
    cudaErrorInvalidPitchValue = 12, c"invalid pitch argument";
    cudaErrorInvalidSymbol = 13, c"invalid device symbol";
    cudaErrorInvalidHostPointer = 16, c"invalid host pointer";
    cudaErrorInvalidDevicePointer = 17, c"invalid device pointer";
    cudaErrorInvalidTexture = 18, c"invalid texture reference";
    cudaErrorInvalidTextureBinding = 19, c"invalid texture binding";
    cudaErrorInvalidChannelDescriptor = 20, c"invalid channel descriptor";
    cudaErrorInvalidMemcpyDirection = 21, c"invalid copy direction for memcpy";
    cudaErrorAddressOfConstant = 22, c"the address of a constant was taken";
    cudaErrorTextureFetchFailed = 23, c"a texture could not be fetched";
    cudaErrorTextureNotBound = 24, c"the texture is not bound";
    cudaErrorSynchronizationError = 25, c"a synchronization failed";
    cudaErrorInvalidFilterSetting = 26, c"invalid filter setting";
    cudaErrorInvalidNormSetting = 27, c"invalid normalization setting";
    cudaErrorMixedDeviceExecution = 28, c"device code and its emulation were mixed";
    cudaErrorNotYetImplemented = 31, c"not yet implemented";
    cudaErrorMemoryValueTooLarge = 32, c"the memory size is too large";
    cudaErrorStubLibrary = 34, c"a stub library was loaded instead of the driver";
    cudaErrorInsufficientDriver = 35, c"CUDA driver version is insufficient for CUDA runtime version";
    cudaErrorCallRequiresNewerDriver = 36, c"the call requires a newer CUDA driver";
    cudaErrorInvalidSurface = 37, c"invalid surface reference";
    cudaErrorDuplicateVariableName = 43, c"several variables share the name";
    cudaErrorDuplicateTextureName = 44, c"several textures share the name";
    cudaErrorDuplicateSurfaceName = 45, c"several surfaces share the name";
    cudaErrorDevicesUnavailable = 46, c"all CUDA-capable devices are busy or unavailable";
    cudaErrorIncompatibleDriverContext = 49, c"the current driver context is incompatible";
    cudaErrorMissingConfiguration = 52, c"a launch without a configuration";
    cudaErrorPriorLaunchFailure = 53, c"an earlier launch failed";
    cudaErrorLaunchMaxDepthExceeded = 65, c"launches are nested too deeply";
    cudaErrorLaunchFileScopedTex = 66, c"a launch with textures of file scope";
    cudaErrorLaunchFileScopedSurf = 67, c"a launch with surfaces of file scope";
    cudaErrorSyncDepthExceeded = 68, c"synchronizations are nested too deeply";
    cudaErrorLaunchPendingCountExceeded = 69, c"too many launches are pending";
    cudaErrorInvalidDeviceFunction = 98, c"invalid device function";
    cudaErrorNoDevice = 100, c"no CUDA-capable device is detected";
    cudaErrorInvalidDevice = 101, c"invalid device ordinal";
    cudaErrorDeviceNotLicensed = 102, c"the device has no license";
    cudaErrorSoftwareValidityNotEstablished = 103, c"the validity of the software is not established";
    cudaErrorStartupFailure = 127, c"the runtime could not start";
    cudaErrorInvalidKernelImage = 200, c"device kernel image is invalid";
    cudaErrorDeviceUninitialized = 201, c"invalid device context";
    cudaErrorMapBufferObjectFailed = 205, c"a buffer could not be mapped";
    cudaErrorUnmapBufferObjectFailed = 206, c"a buffer could not be unmapped";
    cudaErrorArrayIsMapped = 207, c"the array is mapped";
    cudaErrorAlreadyMapped = 208, c"the resource is already mapped";
    cudaErrorNoKernelImageForDevice = 209, c"no kernel image is available for execution on the device";
    cudaErrorAlreadyAcquired = 210, c"the resource is already acquired";
    cudaErrorNotMapped = 211, c"the resource is not mapped";
    cudaErrorNotMappedAsArray = 212, c"the resource is not mapped as an array";
    cudaErrorNotMappedAsPointer = 213, c"the resource is not mapped as a pointer";
    cudaErrorECCUncorrectable = 214, c"uncorrectable ECC error encountered";
    cudaErrorUnsupportedLimit = 215, c"limit is not supported on this architecture";
    cudaErrorDeviceAlreadyInUse = 216, c"the device is used by another thread";
    cudaErrorPeerAccessUnsupported = 217, c"peer access is not supported between these two devices";
    cudaErrorInvalidPtx = 218, c"a PTX JIT compilation failed";
    cudaErrorInvalidGraphicsContext = 219, c"invalid graphics context";
    cudaErrorNvlinkUncorrectable = 220, c"uncorrectable NVLink error";
    cudaErrorJitCompilerNotFound = 221, c"the PTX JIT compiler library was not found";
    cudaErrorUnsupportedPtxVersion = 222, c"the PTX was compiled with an unsupported toolchain";
    cudaErrorJitCompilationDisabled = 223, c"PTX JIT compilation is disabled";
    cudaErrorUnsupportedExecAffinity = 224, c"the execution affinity is not supported on this device";
    cudaErrorUnsupportedDevSideSync = 225, c"the code synchronizes on the device, which is not supported";
    cudaErrorContained = 226, c"an error was contained";
    cudaErrorInvalidSource = 300, c"device kernel image is invalid";
    cudaErrorFileNotFound = 301, c"file not found";
    cudaErrorSharedObjectSymbolNotFound = 302, c"a symbol of a shared object was not found";
    cudaErrorSharedObjectInitFailed = 303, c"a shared object could not be initialized";
    cudaErrorOperatingSystem = 304, c"an operating system call failed";
    cudaErrorInvalidResourceHandle = 400, c"invalid resource handle";
    cudaErrorIllegalState = 401, c"the operation cannot be performed in the present state";
    cudaErrorLossyQuery = 402, c"the query would lose information";
    cudaErrorSymbolNotFound = 500, c"named symbol not found";
    cudaErrorNotReady = 600, c"device not ready";
    cudaErrorIllegalAddress = 700, c"an illegal memory access was encountered";
    cudaErrorLaunchOutOfResources = 701, c"too many resources requested for launch";
    cudaErrorLaunchTimeout = 702, c"the launch timed out and was terminated";
    cudaErrorLaunchIncompatibleTexturing = 703, c"a launch with incompatible texturing modes";
    cudaErrorPeerAccessAlreadyEnabled = 704, c"peer access is already enabled";
    cudaErrorPeerAccessNotEnabled = 705, c"peer access has not been enabled";
    cudaErrorSetOnActiveProcess = 708, c"cannot set while device is active in this process";
    cudaErrorContextIsDestroyed = 709, c"context is destroyed";
    cudaErrorAssert = 710, c"device-side assert triggered";
    cudaErrorTooManyPeers = 711, c"peer mapping resources exhausted";
    cudaErrorHostMemoryAlreadyRegistered = 712, c"part or all of the requested memory range is already mapped";
    cudaErrorHostMemoryNotRegistered = 713, c"pointer does not correspond to a registered memory region";
    cudaErrorHardwareStackError = 714, c"hardware stack error";
    cudaErrorIllegalInstruction = 715, c"an illegal instruction was encountered";
    cudaErrorMisalignedAddress = 716, c"misaligned address";
    cudaErrorInvalidAddressSpace = 717, c"operation not supported on global/shared address space";
    cudaErrorInvalidPc = 718, c"invalid program counter";
    cudaErrorLaunchFailure = 719, c"unspecified launch failure";
    cudaErrorCooperativeLaunchTooLarge = 720, c"too many blocks in cooperative launch";
    cudaErrorTensorMemoryLeak = 721, c"tensor memory was not given back";
    cudaErrorNotPermitted = 800, c"operation not permitted";
    cudaErrorNotSupported = 801, c"operation not supported";
    cudaErrorSystemNotReady = 802, c"system not yet initialized";
    cudaErrorSystemDriverMismatch = 803, c"the driver does not match the system";
    cudaErrorCompatNotSupportedOnDevice = 804, c"the compatibility mode is not supported on this hardware";
    cudaErrorMpsConnectionFailed = 805, c"the MPS client could not connect to its control daemon";
    cudaErrorMpsRpcFailure = 806, c"a remote call to the MPS server failed";
    cudaErrorMpsServerNotReady = 807, c"the MPS server is not ready for new clients";
    cudaErrorMpsMaxClientsReached = 808, c"the MPS server has all the clients that it can have";
    cudaErrorMpsMaxConnectionsReached = 809, c"the MPS server has all the connections that it can have";
    cudaErrorMpsClientTerminated = 810, c"the MPS client was terminated";
    cudaErrorCdpNotSupported = 811, c"launches from devices are not supported";
    cudaErrorCdpVersionMismatch = 812, c"the version of launches from devices does not match";
    cudaErrorStreamCaptureUnsupported = 900, c"operation not permitted when stream is capturing";
    cudaErrorStreamCaptureInvalidated = 901, c"operation failed due to a previous error during capture";
    cudaErrorStreamCaptureMerge = 902, c"operation would result in a merge of separate capture sequences";
    cudaErrorStreamCaptureUnmatched = 903, c"capture was not ended in the same stream as it began";
    cudaErrorStreamCaptureUnjoined = 904, c"capturing stream has unjoined work";
    cudaErrorStreamCaptureIsolation = 905, c"dependency created on uncaptured work in another stream";
    cudaErrorStreamCaptureImplicit = 906, c"operation would make the legacy stream depend on a capturing blocking stream";
    cudaErrorCapturedEvent = 907, c"operation not permitted on an event last recorded in a capturing stream";
    cudaErrorStreamCaptureWrongThread = 908, c"attempt to terminate a thread-local capture sequence from another thread";
    cudaErrorTimeout = 909, c"the wait timed out";
    cudaErrorGraphExecUpdateFailure = 910, c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    cudaErrorExternalDevice = 911, c"an error of a device other than a GPU";
    cudaErrorInvalidClusterSize = 912, c"invalid cluster size";
    cudaErrorFunctionNotLoaded = 913, c"the function is not loaded";
    cudaErrorInvalidResourceType = 914, c"invalid resource type";
    cudaErrorInvalidResourceConfiguration = 915, c"invalid resource configuration";
    cudaErrorUnknown = 999, c"unknown error";
    cudaErrorApiFailureBase = 10000, c"an error of the API";
}

impl cudaError_t {
    /// Whether the error stays: work on the device failed in a way that ends its context.
    pub(crate) const fn is_sticky(self) -> bool {
        // ECC and NVLink errors, then all from illegal addresses to failed launches that are no
        // errors of the call itself.
        matches!(self.0, 214 | 220 | 226 | 700 | 702 | 710 | 714..=719 | 721)
    }
}

/// The two interfaces have had the same numbers since CUDA 10.1. What only the driver has is
/// unknown to the program.
impl From<CUresult> for cudaError_t {
    fn from(error: CUresult) -> cudaError_t {
        let same = cudaError_t(error.0);
        if same.described().is_some() { same } else { cudaError_t::cudaErrorUnknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_name_of_the_header_and_a_text() {
        let (name, text) = cudaError_t(2).described().expect("it is one");
        assert_eq!((name, text), (c"cudaErrorMemoryAllocation", c"out of memory"));
        assert_eq!(cudaError_t(8).described().map(|(name, _)| name.to_bytes().len()), Some(31));
        assert_eq!(cudaError_t(4711).described(), None);
    }

    #[test]
    fn an_error_of_the_driver_keeps_its_number_where_the_runtime_has_it() {
        assert_eq!(CUresult::CUDA_SUCCESS, CUresult(cudaError_t::cudaSuccess.0));
        let address = cudaError_t::from(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(address, cudaError_t::cudaErrorIllegalAddress);
        assert_eq!(cudaError_t::from(CUresult(4711)), cudaError_t::cudaErrorUnknown);
    }

    #[test]
    fn errors_of_kernels_stay_and_errors_of_calls_do_not() {
        assert!(cudaError_t::cudaErrorIllegalAddress.is_sticky());
        assert!(cudaError_t::cudaErrorAssert.is_sticky());
        assert!(!cudaError_t::cudaErrorInvalidValue.is_sticky());
        assert!(!cudaError_t::cudaErrorLaunchOutOfResources.is_sticky());
        assert!(!cudaError_t::cudaErrorCooperativeLaunchTooLarge.is_sticky());
    }
}
