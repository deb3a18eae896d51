//! Gradients that are summed over ranks, bucket by bucket, while the backward pass still runs.

use std::mem;
use std::sync::{Arc, Weak};

use collectives::{Communicator, ReduceOp};
use parking_lot::Mutex;
use tensor::{DType, Device, RemovableHandle, Result, Tensor};

use super::DistributedError;
use super::buckets::{self, BucketMembers};
use super::side_stream::SideStream;
use crate::coalesce::{flatten, unflatten};

/// Sums the gradients of parameters over the ranks of a communicator.
///
/// Each parameter has a hook, which the backward pass calls when the parameter's gradient is
/// complete. As soon as a bucket has all of its gradients, and those before it have been handed
/// over, the communicator gets it; so every rank reduces the same buckets in the same order, whatever
/// becomes ready first. The gradients are views of the bucket afterwards. One rank alone has
/// nothing to sum, and leaves its gradients where they are.
pub(super) struct GradientReducer {
    pass: Arc<Mutex<ReductionPass>>,
    hooks: Vec<RemovableHandle>,
    options: GradientReducerOptions,
    order: BucketOrder,
}

/// The order of the buckets, of which all ranks know the same.
enum BucketOrder {
    /// It is guessed.
    Declared,
    /// A pass has shown this one; all ranks are to take that which it has shown the first of them.
    Shown(Vec<usize>),
    /// It is that in which gradients become ready.
    Ready,
}

/// The options of a reducer.
#[derive(Clone, Copy, Debug)]
pub(super) struct GradientReducerOptions {
    pub(super) bucket_bytes: usize,
    pub(super) find_unused_parameters: bool,
}

/// One backward pass, as the hooks see it.
struct ReductionPass {
    communicator: Arc<dyn Communicator>,
    side: Arc<SideStream>,
    names: Vec<String>,
    parameters: Vec<Tensor>,
    buckets: Vec<BucketMembers>,
    /// The bucket of each parameter.
    bucket_of: Vec<usize>,
    /// Whether gradients are reduced by the pass that runs.
    is_reducing: bool,
    /// The gradients that each bucket waits for.
    missing: Vec<usize>,
    /// The first bucket that has not been handed over.
    next: usize,
    /// The parameters in the order in which they became ready.
    ready: Vec<usize>,
    is_ready: Vec<bool>,
}

impl GradientReducer {
    /// A reducer of those of the parameters that require gradients.
    pub(super) fn new(
        communicator: Arc<dyn Communicator>,
        side: Arc<SideStream>,
        named: Vec<(String, Tensor)>,
        options: GradientReducerOptions,
    ) -> Result<GradientReducer> {
        let trained = named.into_iter().filter(|(_, parameter)| parameter.requires_grad());
        let (names, parameters): (Vec<_>, Vec<_>) = trained.unzip();
        let count = parameters.len();
        let pass = ReductionPass {
            communicator,
            side,
            names,
            parameters,
            buckets: Vec::new(),
            bucket_of: vec![0; count],
            is_reducing: false,
            missing: Vec::new(),
            next: 0,
            ready: Vec::with_capacity(count),
            is_ready: vec![false; count],
        };
        let pass = Arc::new(Mutex::new(pass));
        pass.lock().use_declared_order(options.bucket_bytes);
        let hooks = register_hooks(&pass)?;
        Ok(GradientReducer { pass, hooks, options, order: BucketOrder::Declared })
    }

    /// Says that the gradients of the backward pass that comes next are to be reduced.
    pub(super) fn begin(&mut self) -> Result<()> {
        let mut pass = self.pass.lock();
        if let BucketOrder::Shown(order) = &self.order {
            let order = pass.of_the_first_rank(order)?;
            pass.use_order(order, self.options.bucket_bytes);
            self.order = BucketOrder::Ready;
        }
        pass.begin();
        Ok(())
    }

    /// Ends the pass: hands over what no gradient came for, which is all of them on a rank that had
    /// no samples. Nothing of it waits for a device, unless unused parameters are to be found.
    ///
    /// # Errors
    /// A parameter got no gradient, and that was not to be expected; or a rank aborted.
    pub(super) fn finish(&mut self, had_samples: bool) -> Result<()> {
        let mut pass = self.pass.lock();
        pass.is_reducing = false;
        if self.options.find_unused_parameters {
            return pass.finish_with_unused();
        }
        let unused = pass.unused();
        if unused.is_empty() || !had_samples {
            return pass.fill_in();
        }
        let names = unused.into_iter().map(|index| pass.names[index].clone()).collect();
        Err(DistributedError::UnusedParameters { rank: pass.communicator.rank(), names }.into())
    }

    /// Says that the pass has succeeded on every rank. The first one has shown in which order
    /// gradients become ready.
    pub(super) fn succeeded_everywhere(&mut self) {
        if let BucketOrder::Declared = self.order {
            self.order = BucketOrder::Shown(self.pass.lock().shown_order());
        }
    }

    /// Clears the gradients.
    pub(super) fn clear_gradients(&self) {
        self.pass.lock().clear_gradients();
    }

    /// Gives up a pass that failed somewhere. Gradients are cleared, since some are reduced and some
    /// are not, and the order is guessed again, since some ranks may know a better one and some not.
    pub(super) fn give_up(&mut self) {
        let mut pass = self.pass.lock();
        pass.is_reducing = false;
        pass.clear_gradients();
        pass.use_declared_order(self.options.bucket_bytes);
        self.order = BucketOrder::Declared;
    }

    /// The parameters of each bucket, in the order in which buckets are reduced.
    pub(super) fn buckets(&self) -> Vec<Vec<String>> {
        let pass = self.pass.lock();
        let name = |&member: &usize| pass.names[member].clone();
        pass.buckets.iter().map(|members| members.iter().map(name).collect()).collect()
    }
}

impl Drop for GradientReducer {
    fn drop(&mut self) {
        self.hooks.iter().for_each(RemovableHandle::remove);
    }
}

/// Registers a hook on each parameter, which owns nothing: parameters own their hooks.
fn register_hooks(pass: &Arc<Mutex<ReductionPass>>) -> Result<Vec<RemovableHandle>> {
    let parameters = pass.lock().parameters.clone();
    let hook = |(index, parameter): (usize, &Tensor)| {
        let pass: Weak<Mutex<ReductionPass>> = Arc::downgrade(pass);
        parameter.register_post_accumulate_grad_hook(move |_| match pass.upgrade() {
            Some(pass) => pass.lock().is_complete(index),
            None => Ok(()),
        })
    };
    parameters.iter().enumerate().map(hook).collect()
}

impl ReductionPass {
    /// Forms buckets in the order in which gradients would come if layers ran as they are declared:
    /// the last ones first.
    fn use_declared_order(&mut self, bucket_bytes: usize) {
        self.use_order((0..self.parameters.len()).rev(), bucket_bytes);
    }

    /// Forms buckets of the parameters in this order.
    fn use_order(&mut self, order: impl IntoIterator<Item = usize>, bucket_bytes: usize) {
        self.buckets = buckets::assign(&self.parameters, order, bucket_bytes);
        for (number, members) in self.buckets.iter().enumerate() {
            for &member in members {
                self.bucket_of[member] = number;
            }
        }
    }

    /// The order in which gradients became ready; those that never did come last.
    fn shown_order(&self) -> Vec<usize> {
        let mut order = self.ready.clone();
        order.extend(self.unused());
        order
    }

    /// The first rank's order.
    fn of_the_first_rank(&self, own: &[usize]) -> Result<Vec<usize>> {
        if self.communicator.size() == 1 {
            return Ok(own.to_vec());
        }
        let order = self.here(own.iter().map(|&index| index as i64).collect())?;
        self.communicator.broadcast(&order, 0)?;
        Ok(order.to_vec::<i64>()?.into_iter().map(|index| index as usize).collect())
    }

    /// Numbers in a tensor on the device of the parameters.
    fn here(&self, numbers: Vec<i64>) -> Result<Tensor> {
        let device = self.parameters.first().map_or(Device::Cpu, Tensor::device);
        Tensor::from_vec(numbers, [self.parameters.len()], (DType::I64, device))
    }

    fn begin(&mut self) {
        self.is_reducing = true;
        self.missing = self.buckets.iter().map(Vec::len).collect();
        self.next = 0;
        self.ready.clear();
        self.is_ready.fill(false);
    }

    /// The gradient of a parameter is complete.
    fn is_complete(&mut self, index: usize) -> Result<()> {
        if !self.is_reducing {
            return Ok(());
        }
        if mem::replace(&mut self.is_ready[index], true) {
            let (rank, name) = (self.communicator.rank(), self.names[index].clone());
            return Err(DistributedError::ReadyTwice { rank, name }.into());
        }
        self.ready.push(index);
        self.missing[self.bucket_of[index]] -= 1;
        while self.missing.get(self.next) == Some(&0) {
            self.reduce_next()?;
        }
        Ok(())
    }

    /// The parameters that got no gradient.
    fn unused(&self) -> Vec<usize> {
        let is_unused = |&index: &usize| !self.is_ready[index];
        (0..self.parameters.len()).filter(is_unused).collect()
    }

    /// Hands over the buckets that are left, with zeros in place of gradients that are not there.
    fn fill_in(&mut self) -> Result<()> {
        while self.next < self.buckets.len() {
            self.reduce_next()?;
        }
        Ok(())
    }

    /// [`fill_in`](ReductionPass::fill_in), after which a parameter that no rank had a gradient of
    /// has none either. What was accumulated in earlier passes is a gradient, too.
    fn finish_with_unused(&mut self) -> Result<()> {
        let has_gradient = |parameter: &Tensor| i64::from(parameter.grad().is_some());
        let used = self.parameters.iter().map(has_gradient).collect();
        self.fill_in()?;
        let used = self.here(used)?;
        self.communicator.all_reduce(&used, ReduceOp::Max)?;
        for (parameter, used) in self.parameters.iter().zip(used.to_vec::<i64>()?) {
            if used == 0 {
                parameter.clear_grad();
            }
        }
        Ok(())
    }

    fn clear_gradients(&self) {
        self.parameters.iter().for_each(Tensor::clear_grad);
    }

    /// Sums the next bucket over the ranks, and makes the gradients views of it.
    fn reduce_next(&mut self) -> Result<()> {
        let members = &self.buckets[self.next];
        self.next += 1;
        if self.communicator.size() == 1 {
            return Ok(());
        }
        let parameters = members.iter().map(|&index| &self.parameters[index]);
        self.side.run(|| {
            let gradients =
                parameters.clone().map(gradient_or_zeros).collect::<Result<Vec<_>>>()?;
            let flat = flatten(&gradients)?;
            self.communicator.all_reduce(&flat, ReduceOp::Sum)?;
            for (parameter, gradient) in parameters.zip(unflatten(&flat, &gradients)?) {
                parameter.set_grad(Some(gradient))?;
            }
            Ok(())
        })
    }
}

fn gradient_or_zeros(parameter: &Tensor) -> Result<Tensor> {
    parameter.grad().map_or_else(|| parameter.detach().zeros_like(), Ok)
}
