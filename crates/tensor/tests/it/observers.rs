//! What observers of the runtime are told of tensors' work: whose it is, and which memory it uses.

use std::sync::{Arc, Mutex};

use gpu_runtime::{
    Access, EnqueuedWork, MemoryAccess, Observation, Observer, StreamId, Work, observe,
};
use tensor::{Backward, Blocking, Device, Result, Tensor, cuda, tensor};

use crate::apply::apply;
use crate::devices::cuda_devices;
use crate::expected::cases;

/// Remembers the kernels and copies of one stream; other tests use others meanwhile.
struct Heard {
    stream: StreamId,
    told: Mutex<Vec<Told>>,
}

struct Told {
    work: String,
    file: &'static str,
    line: u32,
    accesses: Vec<MemoryAccess>,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}:{}", self.work, self.file, self.line)
    }
}

impl Heard {
    fn on(stream: &cuda::Stream) -> (Arc<Heard>, Observation) {
        let heard = Arc::new(Heard { stream: stream.id(), told: Mutex::default() });
        (heard.clone(), observe(heard))
    }

    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.told.lock().expect("no panic"))
    }

    /// The one piece of work since the last question.
    fn only(&self) -> Told {
        let mut told = self.take();
        assert_eq!(told.len(), 1, "{told:?}");
        told.remove(0)
    }
}

impl Observer for Heard {
    fn enqueued(&self, operation: &EnqueuedWork<'_>, _: Option<u64>) {
        let is_work = matches!(operation.work, Work::Kernel { .. } | Work::Copy { .. });
        if operation.stream.id() == self.stream && is_work {
            self.told.lock().expect("no panic").push(Told {
                work: operation.work.to_string(),
                file: operation.place.file(),
                line: operation.place.line(),
                accesses: operation.accesses.to_vec(),
            });
        }
    }
}

fn writes(told: &Told) -> Vec<(u64, usize)> {
    ranges(told, Access::Write)
}

fn reads(told: &Told) -> Vec<(u64, usize)> {
    ranges(told, Access::Read)
}

fn ranges(told: &Told, kind: Access) -> Vec<(u64, usize)> {
    let of_kind = told.accesses.iter().filter(|access| access.access == kind);
    of_kind.map(|access| (access.start, access.bytes)).collect()
}

#[test]
fn every_operation_is_told_with_the_place_of_its_caller_and_with_memory() -> Result<()> {
    let stream = cuda::Stream::new(cuda_devices()[0])?;
    let _entered = stream.enter()?;
    let (heard, _observation) = Heard::on(&stream);
    let mut elsewhere = Vec::new();
    for family in [
        "unary", "binary", "scalars", "compare", "ternary", "casts", "reduce", "rows", "matmul",
        "index",
    ] {
        for case in cases(family) {
            let inputs = case.inputs(stream.device())?;
            heard.take();
            let _output = apply(&case, &inputs)?;
            for told in heard.take() {
                assert!(!writes(&told).is_empty(), "{}: {told:?}", case.describe());
                if !told.file.ends_with("tests/it/apply.rs") {
                    elsewhere.push(format!("{}: {told:?}", case.op()));
                }
            }
        }
    }
    elsewhere.dedup();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
    Ok(())
}

#[test]
fn operators_factories_and_gradients_are_told_with_the_place_of_their_caller() -> Result<()> {
    let device = cuda_devices()[0];
    let stream = cuda::Stream::new(device)?;
    let _entered = stream.enter()?;
    let (heard, _observation) = Heard::on(&stream);
    let here = |line: u32| {
        let told = heard.take();
        assert!(!told.is_empty(), "line {line}");
        for told in told {
            assert_eq!((told.file, told.line), (file!(), line), "{told:?}");
        }
    };
    let x = Tensor::rand([3], device)?;
    here(line!() - 1);
    let x = x.requires_grad_(true)?;
    let y = (&(&x + 1.0)? * &x)?;
    here(line!() - 1);
    let z = (2.0 - &y)?.sum(())?;
    here(line!() - 1);
    z.backward()?;
    here(line!() - 1);
    let z = x.softmax(0)?.sum(())?;
    here(line!() - 1);
    Backward::new().output(&z).run()?;
    here(line!() - 1);
    let _there = tensor![1.0, 2.0]?.to(device)?;
    here(line!() - 1);
    let _back = x.to_vec::<f32>()?;
    here(line!() - 1);
    Ok(())
}

#[test]
fn views_are_told_by_their_rows() -> Result<()> {
    let device = cuda_devices()[0];
    let stream = cuda::Stream::new(device)?;
    let _entered = stream.enter()?;
    let matrix = Tensor::zeros([4, 6], device)?;
    let (heard, _observation) = Heard::on(&stream);
    matrix.fill_(1.0)?;
    let [(start, bytes)] = writes(&heard.only())[..] else { panic!("it is dense") };
    assert_eq!(bytes, 4 * 6 * 4);
    matrix.narrow(1, 2, 3)?.fill_(2.0)?;
    let rows: Vec<_> = (0..4).map(|row| (start + (row * 6 + 2) * 4, 12)).collect();
    assert_eq!(writes(&heard.only()), rows);
    let _sum = matrix.narrow(0, 1, 2)?.t()?.sum(())?;
    assert_eq!(reads(&heard.only()), [(start + 24, 48)]);
    Ok(())
}

#[test]
fn a_view_of_many_rows_is_told_by_some_of_them() -> Result<()> {
    let device = cuda_devices()[0];
    let stream = cuda::Stream::new(device)?;
    let _entered = stream.enter()?;
    let column = Tensor::zeros([10_000, 2], device)?.narrow(1, 1, 1)?;
    let (heard, _observation) = Heard::on(&stream);
    column.fill_(1.0)?;
    let told = writes(&heard.only());
    assert!(told.len() > 1000 && told.len() <= 4096, "{}", told.len());
    let (first, _) = told[0];
    assert!(told.iter().all(|(start, bytes)| (start - first) % 8 == 0 && *bytes == 4));
    Ok(())
}

#[test]
fn copies_to_the_host_are_told_with_page_locked_memory_and_without_other() -> Result<()> {
    let device = cuda_devices()[0];
    let stream = cuda::Stream::new(device)?;
    let _entered = stream.enter()?;
    let x = Tensor::zeros([5], device)?;
    let pinned = Tensor::zeros([5], Device::Cpu)?.pin_memory()?;
    let (heard, _observation) = Heard::on(&stream);
    x.copy_with(&pinned, Blocking::No)?;
    let told = heard.only();
    assert_eq!((reads(&told).len(), writes(&told).len()), (1, 1));
    x.copy_(&Tensor::zeros([5], Device::Cpu)?)?;
    let told = heard.only();
    assert_eq!((reads(&told).len(), writes(&told).len()), (0, 1));
    Ok(())
}
