//! What the tests have in common: calls, devices of their own, gates, child processes.

use std::any::type_name;
use std::ffi::c_void;
use std::fmt::Debug;
use std::process::{Command, Output};
use std::ptr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, Once, PoisonError};

use cuda_sim::control::{self, Config};
use cuda_sys::{
    CU_STREAM_LEGACY, CUcontext, CUdeviceptr, CUevent, CUfunction, CUmodule, CUresult, CUstream,
};

/// Calls a function of the driver and returns its `CUresult`.
macro_rules! cuda {
    ($name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: in all tests, what is pointed to lives until the call, and what it enqueues, is
        // done; everything else is the driver's to check.
        unsafe { cuda_sim::exports::$name($($argument),*) }
    };
}

/// Calls a function of the driver, which is to succeed.
macro_rules! ok {
    ($name:ident($($argument:expr),* $(,)?)) => {
        assert_eq!($crate::sim::cuda!($name($($argument),*)), cuda_sys::CUresult::CUDA_SUCCESS)
    };
}

/// Calls a function of the driver, which is to fail with that error.
macro_rules! fails {
    ($error:ident, $name:ident($($argument:expr),* $(,)?)) => {
        assert_eq!($crate::sim::cuda!($name($($argument),*)), cuda_sys::CUresult::$error)
    };
}

pub(crate) const DEVICES: u32 = 8;
pub(crate) const MEMORY: u64 = 256 << 20;

/// Small kernels, each described there.
pub(crate) const KERNELS: &str = concat!(include_str!("kernels.ptx"), "\0");

/// Non-blocking, as flags of `cuStreamCreate`.
pub(crate) const NON_BLOCKING: u32 = 1;

/// Initialises the driver, for all tests of the process alike. The environment may switch checks
/// on.
pub(crate) fn start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let asked = Config::from_env().expect("the environment is in order");
        let config = Config { devices: DEVICES, memory_per_device: MEMORY, workers: 3, ..asked };
        control::configure(config).expect("nobody has initialised it yet");
        ok!(cuInit(0));
    });
}

/// A device that no other test uses, with its primary context current.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) ordinal: i32,
    pub(crate) context: CUcontext,
}

static TAKEN: Mutex<[bool; DEVICES as usize]> = Mutex::new([false; DEVICES as usize]);
static GIVEN_BACK: Condvar = Condvar::new();

impl Gpu {
    pub(crate) fn take() -> Gpu {
        let [gpu] = Gpu::take_several();
        gpu
    }

    /// Several devices at once; the first one is current.
    pub(crate) fn take_several<const N: usize>() -> [Gpu; N] {
        start();
        let ordinals = take_ordinals(N);
        let gpus = [(); N].map(|()| 0);
        let mut ordinals = ordinals.into_iter();
        let gpus = gpus.map(|_: i32| {
            let ordinal = ordinals.next().expect("as many as asked for") as i32;
            let mut context = ptr::null_mut();
            ok!(cuDevicePrimaryCtxRetain(&mut context, ordinal));
            Gpu { ordinal, context }
        });
        gpus[0].enter();
        gpus
    }

    /// Makes it the calling thread's device.
    pub(crate) fn enter(&self) {
        ok!(cuCtxSetCurrent(self.context));
    }

    pub(crate) fn allocate(&self, bytes: usize) -> CUdeviceptr {
        self.enter();
        let mut pointer = 0;
        ok!(cuMemAlloc_v2(&mut pointer, bytes));
        pointer
    }

    pub(crate) fn stream(&self, flags: u32) -> CUstream {
        self.enter();
        let mut stream = ptr::null_mut();
        ok!(cuStreamCreate(&mut stream, flags));
        stream
    }

    pub(crate) fn event(&self, flags: u32) -> CUevent {
        self.enter();
        let mut event = ptr::null_mut();
        ok!(cuEventCreate(&mut event, flags));
        event
    }

    /// Loads a module from text that ends with a NUL.
    pub(crate) fn load(&self, source: &'static str) -> CUmodule {
        self.enter();
        let mut module = ptr::null_mut();
        ok!(cuModuleLoadData(&mut module, source.as_ptr().cast()));
        module
    }
}

// SAFETY: a context's handle is a number, which any thread may pass to the driver.
unsafe impl Send for Gpu {}
// SAFETY: its methods only pass the handle's number on to the driver, which any thread may call.
unsafe impl Sync for Gpu {}

impl Drop for Gpu {
    fn drop(&mut self) {
        // What the test left behind goes with the context.
        let released = cuda!(cuDevicePrimaryCtxRelease_v2(self.ordinal));
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken[self.ordinal as usize] = false;
        GIVEN_BACK.notify_all();
        drop(taken);
        if !std::thread::panicking() {
            assert_eq!(released, CUresult::CUDA_SUCCESS);
        }
    }
}

fn take_ordinals(count: usize) -> Vec<usize> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let free: Vec<usize> = (0..taken.len()).filter(|&index| !taken[index]).collect();
        if free.len() >= count {
            free[..count].iter().for_each(|&index| taken[index] = true);
            return free[..count].to_vec();
        }
        taken = GIVEN_BACK.wait(taken).unwrap_or_else(PoisonError::into_inner);
    }
}

/// A host function in a stream that does not return before it is told to.
pub(crate) struct Gate {
    open: Option<SyncSender<()>>,
    reached: Receiver<()>,
}

impl Gate {
    /// Puts a closed gate into a stream.
    pub(crate) fn close(stream: CUstream) -> Gate {
        let (open, opened) = sync_channel::<()>(1);
        let (reach, reached) = sync_channel(1);
        enqueue(stream, move || {
            let _ = reach.send(());
            // An error means that the gate was dropped, which opens it.
            let _ = opened.recv();
        });
        Gate { open: Some(open), reached }
    }

    /// Waits until the stream has come to the gate.
    pub(crate) fn wait_until_reached(&self) {
        self.reached.recv().expect("the gate stands in a stream");
    }

    /// Lets the stream go on.
    pub(crate) fn open(mut self) {
        self.open.take();
    }
}

/// Enqueues a host function.
pub(crate) fn enqueue(stream: CUstream, function: impl FnOnce() + Send + 'static) {
    unsafe extern "C" fn call<F: FnOnce()>(argument: *mut c_void) {
        // SAFETY: the argument is the box below, which nobody else takes back.
        let function = unsafe { Box::from_raw(argument.cast::<F>()) };
        function();
    }
    fn thunk<F: FnOnce()>(_: &F) -> unsafe extern "C" fn(*mut c_void) {
        call::<F>
    }
    let call = thunk(&function);
    let argument = Box::into_raw(Box::new(function)).cast();
    ok!(cuLaunchHostFunc(stream, Some(call), argument));
}

/// Enqueues a callback, which is told how the stream fared.
pub(crate) fn call_back(stream: CUstream, callback: impl FnOnce(CUresult) + Send + 'static) {
    type Callback = Box<dyn FnOnce(CUresult) + Send>;
    unsafe extern "C" fn call(_: CUstream, status: CUresult, argument: *mut c_void) {
        // SAFETY: the argument is the box below, which nobody else takes back.
        let callback = unsafe { Box::from_raw(argument.cast::<Callback>()) };
        callback(status);
    }
    let callback: Box<Callback> = Box::new(Box::new(callback));
    ok!(cuStreamAddCallback(stream, Some(call), Box::into_raw(callback).cast(), 0));
}

/// Copies a slice to the device and waits.
pub(crate) fn upload<T: Copy>(to: CUdeviceptr, values: &[T]) {
    ok!(cuMemcpyHtoD_v2(to, values.as_ptr().cast(), size_of_val(values)));
}

/// Copies from the device and waits.
pub(crate) fn download<T: Copy + Default, const N: usize>(from: CUdeviceptr) -> [T; N] {
    let mut values = [T::default(); N];
    ok!(cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), from, size_of_val(&values)));
    values
}

/// Checks what the device holds.
#[track_caller]
pub(crate) fn assert_holds<T, const N: usize>(pointer: CUdeviceptr, expected: [T; N])
where
    T: Copy + Default + PartialEq + Debug,
{
    assert_eq!(download::<T, N>(pointer), expected);
}

pub(crate) use {cuda, fails, ok};

/// The legacy default stream of the current context.
pub(crate) const DEFAULT: CUstream = CU_STREAM_LEGACY;

/// The function of that name.
pub(crate) fn function(module: CUmodule, name: &std::ffi::CStr) -> CUfunction {
    let mut function = ptr::null_mut();
    ok!(cuModuleGetFunction(&mut function, module, name.as_ptr()));
    function
}

/// Launches blocks of that many threads with 64-bit arguments.
pub(crate) fn launch(
    function: CUfunction,
    [blocks, threads]: [u32; 2],
    stream: CUstream,
    arguments: &[u64],
) -> CUresult {
    let pointers = arguments.iter().map(|argument| ptr::from_ref(argument).cast_mut().cast());
    let mut pointers: Vec<*mut c_void> = pointers.collect();
    cuda!(cuLaunchKernel(
        function,
        blocks,
        1,
        1,
        threads,
        1,
        1,
        0,
        stream,
        pointers.as_mut_ptr(),
        ptr::null_mut()
    ))
}

/// Runs `body`, a closure of a test, in a process of its own: for what concerns a whole process.
/// A test may do so several times; in a child only the first time counts.
pub(crate) fn in_child<F: FnOnce()>(environment: &[(&str, &str)], body: F) {
    drop(output_of_child(environment, body));
}

/// The same, and what the child wrote to its standard output and error. `None` in the child.
pub(crate) fn output_of_child<F: FnOnce()>(
    environment: &[(&str, &str)],
    body: F,
) -> Option<[String; 2]> {
    let (test, output) = end_of_child(environment, body)?;
    let [text, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{test} in a child: {}\n{text}{errors}",
        output.status,
    );
    Some([text, errors])
}

/// The exit status of a process in which `body` ran. `None` in the child.
pub(crate) fn status_of_child<F: FnOnce()>(
    environment: &[(&str, &str)],
    body: F,
) -> Option<Option<i32>> {
    end_of_child(environment, body).map(|(_, output)| output.status.code())
}

/// The name of the test, and how its child ended.
fn end_of_child<F: FnOnce()>(
    environment: &[(&str, &str)],
    body: F,
) -> Option<(&'static str, Output)> {
    const CHILD: &str = "CUDA_SIM_TEST_CHILD";
    static RUN: Once = Once::new();
    if std::env::var_os(CHILD).is_some() {
        RUN.call_once(body);
        return None;
    }
    let closure = type_name::<F>();
    let test = closure.strip_suffix("::{{closure}}").expect("a closure of a test");
    let test = test.split_once("::").expect("a path").1;
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args([test, "--exact", "--nocapture"])
        .env_remove("CUDA_VISIBLE_DEVICES")
        .env(CHILD, "1")
        .envs(environment.iter().copied())
        .output()
        .expect("the child starts");
    Some((test, output))
}

/// Ends the process if it still runs after that time: for children in which something may hang.
pub(crate) fn end_after(seconds: u32) {
    // SAFETY: the signal's action is the default one: it ends the process.
    unsafe { libc::alarm(seconds) };
}
