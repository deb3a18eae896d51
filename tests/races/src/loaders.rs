//! Batches that are brought to the device ahead of the loop that uses them.

use parallel::{DataLoader, TensorDataset};
use tensor::{Blocking, Tensor, cuda};

use crate::lab::{Lab, NamedPrograms, Result};

pub(crate) const RACY: NamedPrograms = &[
    ("batches that are used on another stream than they were asked for on", |lab| {
        let loader = prefetching(lab)?;
        let mut sums = Vec::new();
        for batch in &loader {
            let (batch,) = batch?;
            sums.push(lab.on(&lab.a, || batch.sum(()))?);
        }
        are(lab, &sums)
    }),
    ("a batch that is used before it has arrived", |lab| {
        let pinned = Tensor::ones([8], ())?.pin_memory()?;
        let batch = lab.on(&lab.b, || pinned.to_with(lab.device, Blocking::No))?;
        let sum = lab.on(&lab.a, || batch.sum(()))?;
        lab.is(&sum, &[8.0])
    }),
    ("a buffer that is filled anew while it is used", |lab| {
        let batches = [1.0, 2.0].map(|value| Tensor::full([8], value, ()));
        let buffer = lab.zeros([8])?;
        let mut sums = Vec::new();
        for batch in batches {
            let pinned = batch?.pin_memory()?;
            lab.on(&lab.b, || buffer.copy_with(&pinned, Blocking::No))?;
            lab.a.wait_stream(&lab.b)?;
            sums.push(lab.on(&lab.a, || buffer.sum(()))?);
        }
        Ok(lab.is(&sums[0], &[8.0])? && lab.is(&sums[1], &[16.0])?)
    }),
    ("gradients that two streams add to one sum", |lab| {
        let (sum, part) = (lab.zeros([8])?, lab.ones([8])?);
        lab.on(&lab.a, || sum.add_(&part))?;
        lab.on(&lab.b, || sum.add_(&part))?;
        lab.is(&sum, &[2.0; 8])
    }),
    ("a result that is copied to the host on a stream that does not wait", |lab| {
        let x = lab.ones([8])?;
        let y = lab.on(&lab.a, || x.mul(3.0))?;
        let pending = lab.on(&lab.b, || y.to_host_async())?;
        Ok(pending.wait()?.to_vec::<f32>()? == [3.0; 8])
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("a loader that prefetches on a stream of its own", |lab| {
        let loader = prefetching(lab)?;
        let _in = lab.a.enter()?;
        let mut sums = Vec::new();
        for batch in &loader {
            let (batch,) = batch?;
            sums.push(batch.sum(())?);
        }
        are(lab, &sums)
    }),
    ("a loader whose copies the loop waits for", |lab| {
        let loader = prefetching(lab)?;
        let mut sums = Vec::new();
        for batch in &loader {
            let (batch,) = batch?;
            cuda::synchronize(lab.device)?;
            sums.push(lab.on(&lab.a, || batch.sum(()))?);
        }
        are(lab, &sums)
    }),
    ("a loop that brings its batches itself", |lab| {
        let loader = DataLoader::builder(dataset()?).batch_size(4).pin_memory(true).build()?;
        let mut sums = Vec::new();
        for batch in &loader {
            let (batch,) = batch?;
            sums.push(lab.on(&lab.a, || batch.to_with(lab.device, Blocking::No)?.sum(()))?);
        }
        are(lab, &sums)
    }),
    ("a batch that is waited for", |lab| {
        let pinned = Tensor::ones([8], ())?.pin_memory()?;
        let batch = lab.on(&lab.b, || pinned.to_with(lab.device, Blocking::No))?;
        lab.a.wait_stream(&lab.b)?;
        let sum = lab.on(&lab.a, || batch.sum(()))?;
        drop(batch);
        lab.is(&sum, &[8.0])
    }),
    ("a buffer that is filled anew once it was used", |lab| {
        let batches = [1.0, 2.0].map(|value| Tensor::full([8], value, ()));
        let buffer = lab.zeros([8])?;
        let mut sums = Vec::new();
        for batch in batches {
            let pinned = batch?.pin_memory()?;
            lab.b.wait_stream(&lab.a)?;
            lab.on(&lab.b, || buffer.copy_with(&pinned, Blocking::No))?;
            lab.a.wait_stream(&lab.b)?;
            sums.push(lab.on(&lab.a, || buffer.sum(()))?);
        }
        Ok(lab.is(&sums[0], &[8.0])? && lab.is(&sums[1], &[16.0])?)
    }),
    ("gradients of a forward pass on two streams", |lab| {
        let x = lab.ones([8])?.requires_grad_(true)?;
        let y = lab.on(&lab.a, || x.mul(2.0))?;
        lab.b.wait_stream(&lab.a)?;
        let z = lab.on(&lab.b, || y.square()?.sum(()))?;
        lab.on(&lab.b, || z.backward())?;
        lab.is(&x.grad().ok_or("it has one")?, &[8.0; 8])
    }),
];

/// 16 samples of two elements, all 1.
fn dataset() -> Result<TensorDataset<(Tensor,)>> {
    Ok(TensorDataset::new((Tensor::ones([16, 2], ())?,))?)
}

/// Its batches are brought to the lab's device ahead of the loop.
fn prefetching(lab: &Lab) -> Result<DataLoader<TensorDataset<(Tensor,)>>> {
    let loader = DataLoader::builder(dataset()?).batch_size(4).workers(2);
    Ok(loader.pin_memory(true).prefetch_to(lab.device).build()?)
}

/// Whether the sums are those of the batches.
fn are(lab: &Lab, sums: &[Tensor]) -> Result<bool> {
    let mut right = sums.len() == 4;
    for sum in sums {
        right &= lab.is(sum, &[8.0])?;
    }
    Ok(right)
}
