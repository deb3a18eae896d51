//! Modules, optimizers, loaders.

use std::time::Duration;

use nn::checkpoint::{self, Generators};
use nn::fields::ExtraRepr;
use nn::{
    Flatten, Forward, LayerNorm, LoadOptions, Member, MemberMut, Module, ReLU, StateDict, Stateful,
    sequential,
};
use parallel::{
    BatchSampler, Collate, ConcatDataset, DataLoader, DataLoaderBuilder, DataLoaderState, Dataset,
    DistributedSampler, PinMemory, RandomSampler, SampleList, Sampler, SequentialSampler, Subset,
    SubsetRandomSampler, TensorDataset, TensorSample, ToDevice, WeightedRandomSampler, from_fn,
    random_split,
};
use tensor::{StackBuffer, Tensor};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "nn::Forward::forward", "nn::Module::to", "nn::Module::replace_tensors",
    "nn::Module::requires_grad_" => |d| {
        let mut model = d.model()?;
        if d.flag()? {
            model.eval();
        }
        if d.flag()? {
            let _ = model.to(d.target()?);
        }
        let _ = model.requires_grad_(d.flag()?);
        if d.rng().one_in(4) {
            let tensor = d.tensor()?;
            let _ = model.replace_tensors(&mut |_| Ok(tensor.clone()));
        }
        let input = d.tensor()?;
        d.look(model.forward(&input).ok());
        model.zero_grad();
        d.look_at_all(Ok(model.parameters()));
        let _ = (model.is_training(), model.to_string());
        Some(())
    };
    "nn::checkpoint::save", "nn::checkpoint::load", "nn::Stateful::set_state" => |d| {
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().join("run.safetensors");
        let (mut model, mut number, name) = (d.model()?, d.word()?, d.text()?);
        let saved = checkpoint::save(&path, &[("model", &model), (&name, &number)]);
        if saved.is_ok() && d.flag()? {
            let mut bytes = std::fs::read(&path).ok()?;
            let at = d.rng().below(bytes.len());
            bytes[at] ^= d.byte()?;
            std::fs::write(&path, bytes).ok()?;
        }
        let _ = checkpoint::load(&path, &mut [("model", &mut model), (&name, &mut number)]);
        let _ = Generators.set_state(&Stateful::state(&model).ok()?);
        d.look_at_all(Ok(model.parameters()));
        Some(())
    };
    "nn::LayerNorm::with_eps" => |d| {
        let layer = LayerNorm::new_with(d.shape()?, d.options()?).ok()?.with_eps(d.number()?);
        let input = d.tensor()?;
        d.look(layer.forward(&input).ok());
        Some(())
    };
    "nn::Module::load_state_dict", "nn::Module::load_state_dict_with", "nn::Module::visit",
    "nn::Module::visit_mut", "nn::Module::apply", "nn::LoadOptions::rename" => |d| {
        let mut model = d.model()?;
        let mut state: StateDict = model.state_dict();
        let (name, tensor) = (d.text()?, d.tensor()?);
        if d.flag()? {
            state.insert(name.clone(), tensor.clone());
        } else if let Some(value) = state.values_mut().next() {
            *value = tensor.clone();
        }
        let _ = model.load_state_dict(&state);
        let renamed = LoadOptions::new().rename(|old| (old != name).then(|| name.clone()));
        let options = if d.flag()? { renamed.lenient() } else { renamed };
        let _ = model.load_state_dict_with(&state, &options);
        model.visit(&mut |_, member| {
            if let Member::Parameter(parameter) = member {
                drop(parameter.sum(()));
            }
        });
        let _ = model.apply(&mut |module| {
            module.visit_mut(&mut |_, member| {
                if let MemberMut::Parameter(parameter) = member {
                    *parameter = tensor.clone();
                }
                Ok(())
            })
        });
        let _ = model.load_state_dict(&state);
        Some(())
    };
    "nn::fields::ExtraRepr::add" => |d| {
        let mut extra = ExtraRepr::new();
        extra.add(&d.text()?, &d.number()?);
        let _ = extra.to_string();
        Some(())
    };
    "nn::Sequential::push" => |d| {
        let model = sequential![d.model()?, ReLU, Flatten, d.linear()?];
        let input = d.tensor()?;
        d.look(model.forward(&input).ok());
        Some(())
    };
    "parallel::Collate::collate", "parallel::Collate::slot", "parallel::Collate::begin",
    "parallel::Collate::put", "parallel::Collate::finish", "parallel::SampleList::begin",
    "parallel::SampleList::push" => |d| {
        let samples = d.owned_tensors()?;
        d.look(Tensor::collate(samples).ok());
        let _ = Collate::collate(vec![(1.5f32, d.integer()?); d.rng().below(3)]);
        let mut slot = <(Vec<Tensor>, String)>::slot(d.flag()?);
        for _ in 0..d.rng().below(4) {
            if d.flag()? {
                <(Vec<Tensor>, String)>::begin(&mut slot, d.rng().below(4));
            }
            let _ = (d.owned_tensors()?, d.text()?).put(&mut slot);
        }
        let finished = <(Vec<Tensor>, String)>::finish(&mut slot).ok();
        d.look_at_all(finished.map_or(Ok(Vec::new()), |(tensors, _)| Ok(tensors)));
        let mut samples = SampleList::new();
        samples.begin(d.size()?);
        samples.push(d.tensor()?);
        samples.take().into_iter().for_each(|sample| d.look(Some(sample)));
        Some(())
    };
    "tensor::StackBuffer::begin", "tensor::StackBuffer::push", "tensor::StackBuffer::push_data",
    "tensor::StackBuffer::push_empty" => |d| {
        let mut buffer = StackBuffer::new(d.flag()?);
        for _ in 0..d.rng().below(4) {
            buffer.begin(d.rng().below(4));
            for _ in 0..d.rng().below(4) {
                let _ = buffer.push(&d.tensor()?);
                let _ = buffer.push_data(&vec![[d.integer()?; 2]; d.rng().below(3)]);
                let _ = buffer.push_empty::<i64>(&[d.size()?, 2]).map(|row| row.fill(1));
            }
            d.look(buffer.finish().ok());
        }
        Some(())
    };
    "parallel::Sampler::iter", "parallel::BatchSampler::new", "parallel::DistributedSampler::new",
    "parallel::DistributedSampler::shuffle", "parallel::DistributedSampler::drop_last",
    "parallel::RandomSampler::new", "parallel::RandomSampler::replacement",
    "parallel::RandomSampler::num_samples", "parallel::SequentialSampler::new",
    "parallel::SubsetRandomSampler::new", "parallel::WeightedRandomSampler::new" => |d| {
        let (epoch, seed, few) = (d.word()?, d.word()?, d.rng().below(5));
        let look = |sampler: &dyn Sampler| {
            let _ = (sampler.len(), sampler.iter(epoch).map(|order| order.take(9).count()));
        };
        if let Ok(shared) = DistributedSampler::new(d.size()?, d.size()?, d.size()?) {
            look(&shared);
            look(&shared.drop_last(true));
        }
        if let Ok(shared) = DistributedSampler::new(few, d.size()?, d.rng().below(3)) {
            look(&shared.shuffle(seed));
        }
        look(&RandomSampler::new(d.size()?, seed).replacement(true));
        look(&RandomSampler::new(few, seed).num_samples(d.size()?).replacement(d.flag()?));
        look(&SubsetRandomSampler::new(vec![d.size()?; few], seed));
        let weights = (0..few).map(|_| d.number()).collect::<Option<_>>()?;
        let _ = WeightedRandomSampler::new(weights, d.size()?, d.flag()?, seed).map(|all| look(&all));
        let all = SequentialSampler::new(d.size()?);
        let batches = BatchSampler::new(all, d.rng().below(9), d.flag()?).ok()?;
        let _ = (batches.len(), batches.iter(epoch).map(|order| order.take(3).count()));
        Some(())
    };
    "parallel::DataLoader::builder", "parallel::DataLoader::set_epoch",
    "parallel::DataLoader::set_state",
    "parallel::DataLoaderBuilder::batch_size", "parallel::DataLoaderBuilder::drop_last",
    "parallel::DataLoaderBuilder::pin_memory", "parallel::DataLoaderBuilder::prefetch_factor",
    "parallel::DataLoaderBuilder::prefetch_to", "parallel::DataLoaderBuilder::shuffle",
    "parallel::DataLoaderBuilder::workers", "parallel::DataLoaderBuilder::build",
    "parallel::Batches::parts", "parallel::DataLoaderBuilder::batch_sampler", "parallel::DataLoaderBuilder::in_order",
    "parallel::DataLoaderBuilder::sampler", "parallel::DataLoaderBuilder::seed",
    "parallel::DataLoaderBuilder::timeout" => |d| {
        let loader = DataLoader::builder(d.dataset()?);
        let loader = configured(d, loader)?.build().ok()?;
        match d.flag()? {
            true => loader.set_epoch(d.word()?),
            false => {
                let early = (0..d.rng().below(3)).map(|_| d.size()).collect::<Option<_>>()?;
                loader.set_state(DataLoaderState { epoch: d.word()?, batches: d.size()?, early });
            }
        }
        if d.rng().one_in(4) {
            let devices = d.devices()?;
            let parts = loader.iter().parts(devices).take(2).flatten().flatten();
            parts.for_each(|(one, two)| [one, two].into_iter().for_each(|part| d.look(Some(part))));
        }
        let batches = d.rng().below(5);
        for (one, two) in loader.iter().take(batches).flatten() {
            d.look(Some(one));
            d.look(Some(two));
        }
        Some(())
    };
    "parallel::Dataset::get", "parallel::Dataset::get_into", "parallel::Dataset::map",
    "parallel::Dataset::collate_with", "parallel::ConcatDataset::new",
    "parallel::Subset::new" => |d| {
        let both = ConcatDataset::new(vec![d.dataset()?, d.dataset()?]).ok()?;
        let _ = both.get(d.size()?);
        let _ = Subset::new(both, vec![d.size()?, d.size()?]).get(d.rng().below(3));
        let dataset = d.dataset()?;
        let _ = dataset.get(d.size()?);
        let mut batch = (StackBuffer::new(false), StackBuffer::new(d.flag()?));
        batch.0.begin(d.rng().below(3));
        let _ = dataset.get_into(d.size()?, &mut batch);
        let mapped = dataset.map(|(one, two)| one.add(&two));
        let index = d.size()?;
        d.look(mapped.get(index).ok());
        let joined = mapped.collate_with(|rows: Vec<Tensor>| Tensor::cat(rows, 0));
        let loader = DataLoader::builder(joined).batch_size(2).build().ok()?;
        d.look(loader.iter().next().and_then(Result::ok));
        Some(())
    };
    "parallel::TensorDataset::new", "parallel::TensorSample::row" => |d| {
        let tensors = (d.tensor()?, d.tensor()?, d.tensor()?);
        let _ = tensors.row(d.size()?);
        let dataset = TensorDataset::new(tensors).ok()?;
        let _ = dataset.get(d.rng().below(4));
        Some(())
    };
    "parallel::ToDevice::into_device", "parallel::PinMemory::into_pinned" => |d| {
        let moved = (d.tensor()?, vec![d.tensor()?]).into_device(d.device()?, d.blocking()?);
        let _ = moved.and_then(PinMemory::into_pinned);
        Some(())
    };
    "parallel::from_fn" => |d| {
        let (len, tensor) = (d.size()?, d.tensor()?);
        let dataset = from_fn(len, move |index| tensor.select(0, index as isize));
        let _ = dataset.get(d.size()?);
        Some(())
    };
    "parallel::random_split" => |d| {
        let dataset = d.dataset()?;
        let lengths = if d.flag()? { [d.size()?, d.size()?] } else { [dataset.len(), 0] };
        for part in random_split(dataset, lengths, d.word()?).into_iter().flatten() {
            let _ = part.get(d.rng().below(3));
        }
        Some(())
    };
};

type Pairs = TensorDataset<(Tensor, Tensor)>;

fn configured(
    d: &mut Draw,
    mut loader: DataLoaderBuilder<Pairs>,
) -> Option<DataLoaderBuilder<Pairs>> {
    if d.rng().one_in(8) {
        let batches = BatchSampler::new(RandomSampler::new(3, d.word()?), 2, d.flag()?).ok()?;
        return Some(loader.batch_sampler(batches).seed(d.word()?));
    }
    loader = loader.batch_size(d.size()?).drop_last(d.flag()?).in_order(d.flag()?);
    if d.rng().one_in(4) {
        loader = loader.sampler(SequentialSampler::new(d.size()?));
    }
    if d.rng().one_in(8) {
        loader = loader.timeout(Duration::from_millis(d.word()?)).seed(d.word()?);
    }
    if d.flag()? {
        loader = loader.shuffle(d.word()?);
    }
    if d.rng().one_in(3) {
        // Each worker is a thread; that somebody asks for 2^62 of them is tried where none starts.
        loader = loader.workers(d.rng().below(3));
    }
    if d.rng().one_in(4) {
        loader = loader.prefetch_factor(d.size()?);
    }
    loader = loader.pin_memory(d.flag()?);
    Some(if d.rng().one_in(3) { loader.prefetch_to(d.device()?) } else { loader })
}
