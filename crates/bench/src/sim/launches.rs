//! All that is `unsafe` in these cases: the kernels' launches, and the product that the `gemm`
//! crate makes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gemm::Parallelism;
use gpu_runtime::{Device, DeviceBuffer, Function, LaunchConfig, Module, Stream};

use crate::error::{Error, Result};

const KERNELS: &str = include_str!("kernels.ptx");

/// Elements of the large arrays.
pub(super) const NUMEL: usize = 1 << 24;
/// The grid that walks over them: its blocks, the threads of a block, and all threads.
const WALKING_BLOCKS: u32 = 24;
const WALKING_BLOCK: u32 = 256;
pub(super) const WALKING_THREADS: usize = (WALKING_BLOCKS * WALKING_BLOCK) as usize;
pub(super) const WARP: usize = 32;
/// Rows and columns of the matrices.
pub(super) const EDGE: usize = 512;
/// Elements and steps of the logistic map: so few elements that they stay in a core's cache.
const SMALL: usize = 1 << 16;
const STEPS: i32 = 256;
const TILE: u32 = 32;

/// The kernels on a device.
pub(super) struct BenchKernels {
    device: Device,
    module: Module,
}

/// A kernel that is only compiled: a small one, and one with an unrolled loop.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compiled {
    Sum,
    Matmul,
}

/// A kernel with its operands, which can be launched again and again.
pub(super) struct PreparedLaunch {
    stream: Stream,
    function: Function,
    config: LaunchConfig,
    operands: LaunchOperands,
}

type FloatBuffer = DeviceBuffer<f32>;

/// The buffers that kernels take; the last one is written.
enum LaunchOperands {
    Add([FloatBuffer; 2], FloatBuffer),
    Saxpy(FloatBuffer, FloatBuffer),
    Sum(FloatBuffer, FloatBuffer),
    Matmul([FloatBuffer; 2], FloatBuffer),
    Logistic(FloatBuffer),
}

impl PreparedLaunch {
    /// Enqueues a launch.
    pub(super) fn launch(&mut self) -> Result<()> {
        let PreparedLaunch { stream, function, config, operands } = self;
        let (n, edge, small) = (NUMEL as i32, EDGE as i32, SMALL as i32);
        // SAFETY: these are the kernels' parameters; the buffers are as long as the numbers say, or
        // have an element for each block that writes one.
        unsafe {
            match operands {
                LaunchOperands::Add([x, y], sum) => {
                    function.launch(stream, *config, (&*x, &*y, sum, n))
                }
                LaunchOperands::Saxpy(x, y) => {
                    function.launch(stream, *config, (n, 1e-9f32, &*x, y))
                }
                LaunchOperands::Sum(x, sum) => function.launch(stream, *config, (&*x, sum, n)),
                LaunchOperands::Matmul([a, b], c) => {
                    function.launch(stream, *config, (&*a, &*b, c, edge))
                }
                LaunchOperands::Logistic(x) => function.launch(stream, *config, (x, small, STEPS)),
            }?;
        }
        Ok(())
    }

    /// Waits for all launches.
    pub(super) fn finish(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }

    /// The contents of the buffer that was written.
    fn result(&self) -> Result<Vec<f32>> {
        let result = match &self.operands {
            LaunchOperands::Add(_, sum) | LaunchOperands::Sum(_, sum) => sum,
            LaunchOperands::Saxpy(_, y) => y,
            LaunchOperands::Matmul(_, c) => c,
            LaunchOperands::Logistic(x) => x,
        };
        Ok(self.stream.copy_dtoh(result)?.wait()?)
    }
}

impl BenchKernels {
    pub(super) fn new(device: Device) -> Result<BenchKernels> {
        Ok(BenchKernels { device, module: device.load(KERNELS)? })
    }

    pub(super) fn device(&self) -> Device {
        self.device
    }

    /// A case's kernel with its operands. It has run once, with the right result.
    pub(super) fn prepare(&self, case: &str) -> Result<PreparedLaunch> {
        let stream = Stream::new(self.device)?;
        let fill = |numel, value| stream.copy_htod(&vec![value; numel]);
        let linear = LaunchConfig::for_elements(NUMEL);
        let (kernel, config, operands, expected) = match case {
            "add_16M" => {
                let (x, y) = (fill(NUMEL, 1.5)?, fill(NUMEL, 0.5)?);
                ("add", linear, LaunchOperands::Add([x, y], fill(NUMEL, 0.0)?), 2.0)
            }
            "saxpy_grid_stride" | "saxpy_same_order" => {
                let small = LaunchConfig::new([WALKING_BLOCKS, 1, 1], [WALKING_BLOCK, 1, 1]);
                ("saxpy", small, LaunchOperands::Saxpy(fill(NUMEL, 1.5)?, fill(NUMEL, 0.5)?), 0.5)
            }
            "block_reduce" => {
                let sums = fill(NUMEL / 256, 0.0)?;
                ("block_sum", linear, LaunchOperands::Sum(fill(NUMEL, 0.5)?, sums), 128.0)
            }
            "warp_reduce" => {
                // A power of two, of which 32-bit sums are exact.
                let x = fill(NUMEL, 0.5f32.powi(12))?;
                ("warp_sum", linear, LaunchOperands::Sum(x, fill(1, 0.0)?), 4096.0)
            }
            "matmul_512" => {
                let tiles = EDGE as u32 / TILE;
                let config = LaunchConfig::new([tiles, tiles, 1], [TILE, TILE, 1]);
                let (a, b) = (fill(EDGE * EDGE, 1.5)?, fill(EDGE * EDGE, 0.5)?);
                ("matmul", config, LaunchOperands::Matmul([a, b], fill(EDGE * EDGE, 0.0)?), 384.0)
            }
            "logistic" => {
                let config = LaunchConfig::for_elements(SMALL);
                // A fixed point of the map.
                ("logistic", config, LaunchOperands::Logistic(fill(SMALL, 0.0)?), 0.0)
            }
            _ => return Err(Error::Apart(format!("there is no case {case}"))),
        };
        let function = self.module.function(kernel)?;
        let mut work = PreparedLaunch { stream, function, config, operands };
        work.launch()?;
        expect(case, &work.result()?, expected)?;
        Ok(work)
    }

    /// The time to load the module and launch a kernel of it for the first time, until the kernel
    /// has run.
    pub(super) fn compile(&self, kernel: Compiled) -> Result<Duration> {
        // Each text is another one, so that nothing remembers it.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let text = format!("{KERNELS}\n// {}\n", NUMBER.fetch_add(1, Ordering::Relaxed));
        let stream = Stream::new(self.device)?;
        let input = stream.copy_htod(&[0.0f32; TILE as usize])?;
        let mut output = stream.copy_htod(&[0.0f32; TILE as usize])?;
        stream.synchronize()?;
        let start = Instant::now();
        let module = self.device.load(&text)?;
        // SAFETY: these are the kernels' parameters, with sizes of 0: one sum, and one row of a
        // tile, are written all the same.
        unsafe {
            match kernel {
                Compiled::Sum => {
                    let config = LaunchConfig::new([1, 1, 1], [256, 1, 1]);
                    let function = module.function("block_sum")?;
                    function.launch(&stream, config, (&input, &mut output, 0i32))
                }
                Compiled::Matmul => {
                    let config = LaunchConfig::new([1, 1, 1], [TILE, TILE, 1]);
                    let function = module.function("matmul")?;
                    function.launch(&stream, config, (&input, &input, &mut output, 0i32))
                }
            }?;
        }
        stream.synchronize()?;
        let time = start.elapsed();
        expect("compile", &stream.copy_dtoh(&output)?.wait()?, 0.0)?;
        Ok(time)
    }
}

/// Whether all numbers are, but for rounding, what they should be.
fn expect(case: &str, numbers: &[f32], expected: f32) -> Result<()> {
    match numbers.iter().find(|&&number| (number - expected).abs() > 1e-6) {
        Some(wrong) => Err(Error::Apart(format!("{case} gives {wrong} instead of {expected}"))),
        None => Ok(()),
    }
}

/// The product of two square matrices by rows, with the `gemm` crate.
pub(super) fn multiply(a: &[f32], b: &[f32], c: &mut [f32]) {
    assert!([a.len(), b.len(), c.len()] == [EDGE * EDGE; 3], "the matrices have {EDGE} rows");
    let (n, row) = (EDGE, EDGE as isize);
    let (c, a, b) = (c.as_mut_ptr(), a.as_ptr(), b.as_ptr());
    // SAFETY: each matrix has `EDGE` rows of as many columns, one row after the other.
    unsafe {
        gemm::gemm(
            n,
            n,
            n,
            c,
            1,
            row,
            false,
            a,
            1,
            row,
            b,
            1,
            row,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
