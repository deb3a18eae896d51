//! Printed kernels on the software driver, which checks every access.

use cuda_sim::control::{CheckKinds, Config, configure};
use expression::ptx::{
    Broadcast2dArguments, DenseArguments, KernelSpec, LayoutClass, PrintedKernel, StridedArguments,
    print,
};
use expression::{DType, Expression};
use gpu_runtime::{
    ByValue, Device, DeviceBuffer, DriverChoice, LaunchConfig, Stream, choose_driver,
};

use crate::memory::HostOperand;

/// The device: a software one that checks each access, unless `GPU_DRIVER` says otherwise.
pub(crate) fn device() -> Device {
    if std::env::var_os("GPU_DRIVER").is_none() {
        configure(Config { devices: 1, check: CheckKinds::ALL, ..Config::default() })
            .expect("as before");
        choose_driver(DriverChoice::Software { devices: None }).expect("nothing else is in use");
    }
    Device::get(0).expect("there is a device")
}

/// An elementwise call.
pub(crate) struct Call<'a> {
    pub(crate) expression: &'a Expression,
    pub(crate) layout: LayoutClass,
    pub(crate) sizes: &'a [usize],
    pub(crate) outputs: &'a [HostOperand],
    pub(crate) inputs: &'a [HostOperand],
    pub(crate) scalars: &'a [u64],
    /// For each output, the input that it is: that operand's memory is used for both.
    pub(crate) in_place: &'a [Option<usize>],
}

impl Call<'_> {
    /// Prints, loads and launches the kernel; the outputs after it.
    pub(crate) fn run(&self) -> Vec<HostOperand> {
        let stream = Stream::new(device()).expect("a stream");
        let inputs: Vec<DeviceBuffer<u8>> =
            self.inputs.iter().map(|input| upload(&stream, input)).collect();
        let outputs: Vec<DeviceBuffer<u8>> =
            self.outputs.iter().map(|output| upload(&stream, output)).collect();
        let shared = |number: usize| self.in_place.get(number).copied().flatten();
        let buffer = |number: usize| match shared(number) {
            Some(input) => &inputs[input],
            None => &outputs[number],
        };
        let mut operands: Vec<(u64, &HostOperand)> = Vec::new();
        for (number, output) in self.outputs.iter().enumerate() {
            operands.push((address(buffer(number), output), output));
        }
        for (buffer, input) in inputs.iter().zip(self.inputs) {
            operands.push((address(buffer, input), input));
        }
        self.launch(&stream, &operands);
        (0..self.outputs.len())
            .map(|number| {
                let bytes = stream.copy_dtoh(buffer(number)).expect("a copy").wait();
                let bytes = bytes.expect("the kernel ends without a fault");
                let bytes = bytes[..self.outputs[number].bytes.len()].to_vec();
                HostOperand { bytes, ..self.outputs[number].clone() }
            })
            .collect()
    }

    fn kernel(&self) -> PrintedKernel {
        let dtypes = |operands: &[HostOperand]| -> Vec<DType> {
            operands.iter().map(|operand| operand.dtype).collect()
        };
        let kernel = print(&KernelSpec {
            name: Some("test"),
            expression: self.expression,
            inputs: &dtypes(self.inputs),
            outputs: &dtypes(self.outputs),
            layout: self.layout,
        })
        .expect("the expression can be printed");
        if let Err(error) = ptx::parse(&kernel.text) {
            panic!("{error}\n{}", kernel.text);
        }
        kernel
    }

    fn launch(&self, stream: &Stream, operands: &[(u64, &HostOperand)]) {
        let kernel = self.kernel();
        let module = stream.device().load(&kernel.text).expect("the driver takes the text");
        let function = module.function(&kernel.entry).expect("the entry is there");
        let numel: usize = self.sizes.iter().product();
        // Fewer threads than elements, so that loops go around.
        let blocks = numel.div_ceil(kernel.elements_per_thread * 64).clamp(1, 3) as u32;
        let config = LaunchConfig::new([blocks, 1, 1], [64, 1, 1]);
        let launched = match self.layout {
            LayoutClass::Dense => {
                let mut arguments = DenseArguments { numel: numel as u64, ..Default::default() };
                fill(&mut arguments.addresses, operands.iter().map(|(address, _)| *address));
                fill(&mut arguments.scalars, self.scalars.iter().copied());
                // SAFETY: all elements lie in buffers that live until the stream is done.
                unsafe { function.launch(stream, config, (ByValue(&arguments),)) }
            }
            LayoutClass::Broadcast2d { .. } => {
                let (rows, columns) = (self.sizes[0] as u64, self.sizes[1] as u64);
                let mut arguments = Broadcast2dArguments { rows, columns, ..Default::default() };
                fill(&mut arguments.addresses, operands.iter().map(|(address, _)| *address));
                let strides = operands.iter().map(|(_, operand)| operand.strides[0] as i64);
                fill(&mut arguments.row_strides, strides);
                fill(&mut arguments.scalars, self.scalars.iter().copied());
                let per_thread = kernel.elements_per_thread;
                let (grid, block) =
                    Broadcast2dArguments::launch_shape(rows.min(5), columns, per_thread, 64);
                let config = LaunchConfig::new(grid, block);
                // SAFETY: all elements lie in buffers that live until the stream is done.
                unsafe { function.launch(stream, config, (ByValue(&arguments),)) }
            }
            LayoutClass::Strided { .. } => {
                let mut arguments = StridedArguments::new(self.sizes);
                fill(&mut arguments.addresses, operands.iter().map(|(address, _)| *address));
                for (strides, (_, operand)) in arguments.strides.iter_mut().zip(operands) {
                    fill(strides, operand.strides.iter().map(|&stride| stride as i64));
                }
                fill(&mut arguments.scalars, self.scalars.iter().copied());
                // SAFETY: all elements lie in buffers that live until the stream is done.
                unsafe { function.launch(stream, config, (ByValue(&arguments),)) }
            }
        };
        launched.expect("the launch is taken");
    }
}

/// Sets the first elements of a list.
fn fill<T>(list: &mut [T], values: impl Iterator<Item = T>) {
    for (to, value) in list.iter_mut().zip(values) {
        *to = value;
    }
}

fn address(buffer: &DeviceBuffer<u8>, operand: &HostOperand) -> u64 {
    buffer.ptr().address() + (operand.start * operand.dtype.size()) as u64
}

/// Never empty, since an empty buffer has no address.
fn upload(stream: &Stream, operand: &HostOperand) -> DeviceBuffer<u8> {
    let bytes = if operand.bytes.is_empty() { &[0][..] } else { &operand.bytes };
    stream.copy_htod(bytes).expect("memory")
}
