//! Models on several devices.

use std::sync::Arc;

use collectives::DeviceGroup;
use nn::optim::SGD;
use nn::{Forward, Module, Sequential};
use parallel::{
    BufferSync, DataParallel, DistributedDataParallel, Gather, Replicas, ReplicasBuilder, Split,
};
use tensor::{Device, Tensor};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "parallel::DataParallel::new" => |d| {
        let mut model = d.model()?;
        if d.flag()? {
            let _ = model.to(tensor::Device::cuda_at(0));
        }
        let model = DataParallel::new(model, d.devices()?).ok()?;
        let input = d.tensor()?;
        d.look(model.forward(&input).ok());
        Some(())
    };
    "parallel::Gather::gather" => |d| {
        let parts = vec![(d.tensor()?, vec![d.tensor()?]), (d.tensor()?, vec![d.tensor()?])];
        let (joined, _) = Gather::gather(parts, d.device()?).ok()?;
        d.look(Some(joined));
        Some(())
    };
    "parallel::Split::split" => |d| {
        let sizes = d.sizes()?;
        let parts = Split::split((d.tensor()?, vec![d.text()?, d.text()?]), &sizes).ok()?;
        d.look_at_all(Ok(parts.into_iter().map(|(tensor, _)| tensor).collect()));
        Some(())
    };
    "parallel::DistributedDataParallel::new", "parallel::DistributedDataParallel::builder",
    "parallel::DistributedDataParallel::backward", "parallel::DistributedDataParallel::accumulate" => |d| {
        let group = DeviceGroup::new([d.device()?]).ok()?;
        let builder = DistributedDataParallel::builder(d.model()?, Arc::new(group.communicator(0).ok()?));
        let builder = builder.bucket_bytes(d.size()?).find_unused_parameters(d.flag()?);
        let mut model = builder.buffers(buffer_sync(d)?).build().ok()?;
        let loss = model.forward(&d.tensor()?).ok()?;
        let _ = if d.flag()? { model.accumulate(&loss) } else { model.backward(&loss) };
        let _ = model.backward(&d.tensor()?);
        d.look_at_all(Ok(model.parameters()));
        let _ = DistributedDataParallel::new(d.model()?, Arc::new(group.communicator(0).ok()?));
        Some(())
    };
    "parallel::Replicas::new", "parallel::Replicas::builder", "parallel::Replicas::step",
    "parallel::Replicas::step_parts", "parallel::Replicas::accumulate", "parallel::Replicas::map",
    "parallel::Replicas::set_learning_rate", "parallel::Replicas::measure_speeds",
    "parallel::Replicas::split_by_speed", "parallel::ReplicasBuilder::optimizer",
    "parallel::ReplicasBuilder::verify_every" => |d| {
        let builder = Replicas::builder(d.model()?, d.devices()?);
        let builder = configured(d, builder)?;
        let mut replicas = builder.build().ok()?;
        replicas.set_learning_rate(d.number()?);
        let loss =
            |model: &Sequential, (x, y): (Tensor, Tensor)| model.forward(&x)?.mul(&y)?.mean(());
        let measured = replicas.measure_speeds((d.tensor()?, d.tensor()?), loss);
        let _ = replicas.split_by_speed(&measured.unwrap_or_default());
        let _ = replicas.split_by_speed(&[d.number()?, d.number()?]);
        for _ in 0..2 {
            let batch = (d.tensor()?, d.tensor()?);
            let losses = match d.rng().below(4) {
                0 => replicas.accumulate(batch, loss).and_then(|losses| Ok(losses.mean()?)),
                1 => replicas.map(batch, loss).map(|mut losses| losses.remove(0)),
                2 => {
                    let parts = vec![batch; d.rng().below(4)];
                    replicas.step_parts(parts, loss).and_then(|losses| Ok(losses.mean()?))
                }
                _ => replicas.step(batch, loss).and_then(|losses| Ok(losses.mean()?)),
            };
            d.look(losses.ok());
        }
        let _ = replicas.verify();
        d.look_at_all(Ok(replicas.model().parameters()));
        let _ = Replicas::new(d.model()?, [Device::Cpu]);
        Some(())
    };
};

fn buffer_sync(d: &mut Draw) -> Option<BufferSync> {
    Some(d.rng().pick(&[BufferSync::First, BufferSync::Average, BufferSync::Own]))
}

fn configured(
    d: &mut Draw,
    builder: ReplicasBuilder<Sequential>,
) -> Option<ReplicasBuilder<Sequential>> {
    let rate = d.number()?;
    let builder = builder.optimizer(move |parameters| SGD::new(parameters, rate).build());
    let builder = builder.bucket_bytes(d.size()?).find_unused_parameters(d.flag()?);
    Some(builder.buffers(buffer_sync(d)?).verify_every(d.word()? % 3))
}
