//! y = 2x + y with one kernel, on NVIDIA's driver if there is a GPU, else on the software driver.

use gpu_runtime::{
    Availability, Device, DriverChoice, LaunchConfig, Result, availability, choose_driver,
};

#[allow(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<()> {
    if let Availability::Unavailable { reason } = availability() {
        println!("{reason}\n-> taking the software driver, with one device");
        choose_driver(DriverChoice::Software { devices: Some(1) })?;
    }
    let device = Device::get(0)?;
    println!("{device} is a {}", device.properties()?.name);

    let n = 1_000_000;
    let xs: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let ys = vec![1.0f32; n];

    let saxpy = device.load(include_str!("../../../kernels/ptx/saxpy.ptx"))?.function("saxpy")?;
    let stream = device.current_stream()?;
    let (x, mut y) = (stream.copy_htod(&xs)?, stream.copy_htod(&ys)?);
    // SAFETY: the kernel takes (n, a, x, y), reads x[..n], and reads and writes y[..n].
    unsafe {
        saxpy.launch(&stream, LaunchConfig::for_elements(n), (n as u64, 2.0f32, &x, &mut y))?;
    }
    let result = stream.copy_dtoh(&y)?.wait()?;

    println!("y = {:?} .. {:?}", &result[..4], &result[n - 2..]);
    assert!(result.iter().zip(&xs).all(|(y, x)| *y == 2.0 * x + 1.0));
    Ok(())
}
