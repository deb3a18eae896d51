//! One rank's part of an operation on its device: the steps of the plan, enqueued on its streams.

use std::iter::once;
use std::sync::Arc;

use gpu_runtime::Capture;
use tensor::cuda::{Order, Stream, StreamGuard, with_order};
use tensor::{CudaView, Result, Tensor};

use super::member::RankDevice;
use crate::ReduceOp;
use crate::combine::combine;
use crate::exchange::{CallKind, LaneMark, RankOperands, RankVisit};
use crate::plan::{BufferRegion, Lane, RankStep, Signal};

/// A rank in an operation, with as much of its plan as is enqueued.
///
/// At the beginning the rank's lane for reductions comes after all earlier uses of its tensors, and
/// at the end it has used them last: by these two the operation is in order with all other work.
/// In between the order is the plan's.
pub(super) struct RankExecution<'a> {
    visit: RankVisit<'a>,
    member: &'a RankDevice,
    /// The stream of the lane for reductions.
    compute: &'a Stream,
    /// The tensor that was handed in, where its elements do not lie side by side.
    strided: Option<Tensor>,
    operands: RankOperands,
    /// The number of steps that are enqueued.
    done: usize,
    /// The lane for reductions is current meanwhile.
    _current: StreamGuard,
}

impl<'a> RankExecution<'a> {
    /// Begins a rank's part. The tensors lie on its device.
    ///
    /// # Errors
    /// Memory is short, or the device failed.
    pub(super) fn begin(
        visit: RankVisit<'a>,
        (member, compute): (&'a RankDevice, &'a Stream),
        tensor: &Tensor,
        result: Option<&Tensor>,
    ) -> Result<RankExecution<'a>> {
        match RankExecution::prepare(&visit, (member, compute), tensor, result) {
            Ok((current, operands)) => {
                visit.operation.publish_operands(member.rank, operands.clone());
                let strided = (!tensor.is_contiguous()).then(|| tensor.clone());
                Ok(RankExecution {
                    visit,
                    member,
                    compute,
                    strided,
                    operands,
                    done: 0,
                    _current: current,
                })
            }
            Err(error) => Err(visit.fail(error)),
        }
    }

    fn prepare(
        visit: &RankVisit<'a>,
        (member, compute): (&'a RankDevice, &Stream),
        tensor: &Tensor,
        result: Option<&Tensor>,
    ) -> Result<(StreamGuard, RankOperands)> {
        let current = compute.enter()?;
        let flat = |tensor: &Tensor| tensor.detach().contiguous()?.flatten();
        let elements = visit.operation.plan.scratch(member.rank);
        let scratch = match elements {
            0 => None,
            _ => Some(member.scratch(elements, tensor.dtype())?),
        };
        let operands =
            RankOperands { tensor: flat(tensor)?, result: result.map(flat).transpose()?, scratch };
        let is_written = visit.operation.call.writes_tensor_of(member.rank);
        come_after_all_uses(compute, &operands, is_written)?;
        Ok((current, operands))
    }

    /// Enqueues the steps up to the first that waits for a signal which no rank has recorded yet,
    /// or all. Whether it was all.
    ///
    /// # Errors
    /// A device or the driver failed.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.run(|visit, signal| Ok(visit.operation.signal(signal)))
            .map_err(|error| self.visit.fail(error))
    }

    /// Enqueues all steps. It waits until the other ranks have come far enough for each.
    ///
    /// # Errors
    /// A device or the driver failed; a rank aborted.
    pub(super) fn run_to_the_end(&mut self) -> Result<()> {
        self.run(|visit, signal| Ok(Some(visit.wait_for_signal(signal)?)))
            .map(drop)
            .map_err(|error| self.visit.fail(error))
    }

    fn run(
        &mut self,
        find: impl Fn(&RankVisit<'a>, Signal) -> Result<Option<LaneMark>>,
    ) -> Result<bool> {
        with_order(Order::Manual, || {
            let plan = Arc::clone(&self.visit.operation.plan);
            for step in &plan.steps(self.member.rank)[self.done..] {
                if !self.enqueue(step, &find)? {
                    return Ok(false);
                }
                self.done += 1;
            }
            Ok(true)
        })
    }

    /// Enqueues a step; `false` if the signal that it waits for is not there.
    fn enqueue(
        &self,
        step: &RankStep,
        find: impl Fn(&RankVisit<'a>, Signal) -> Result<Option<LaneMark>>,
    ) -> Result<bool> {
        let Some(stream) = self.member.stream(step.lane()) else { return Ok(true) };
        let operation = &self.visit.operation;
        match step {
            RankStep::Copy { from, to_rank, to, .. } => {
                let source = self.view(from)?;
                let target = match *to_rank == self.member.rank {
                    true => self.view(to)?,
                    false => match operation.operands(*to_rank) {
                        Some(operands) => view(&operands, to)?,
                        // It has left with an error, and nothing comes of the operation.
                        None => return Ok(true),
                    },
                };
                CudaView::enqueue_copy(stream, target.cuda_write()?, source.cuda_read()?)?;
            }
            RankStep::Reduce { into, inputs, is_last } => {
                let CallKind::Collective { op: Some(op), .. } = operation.call.kind else {
                    return Ok(true);
                };
                self.reduce(op, into, inputs, *is_last)?;
            }
            RankStep::Signal { lane, .. } => {
                operation.publish_signal(self.member.rank, self.mark(*lane, stream)?);
            }
            RankStep::Wait { signal, .. } => match find(&self.visit, *signal)? {
                Some(mark) => mark.wait(stream)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// Marks the place to which a lane has come. Right after a copy the runtime has recorded an event,
    /// which need not be done again; but a captured stream has no points.
    fn mark(&self, lane: Lane, stream: &Stream) -> Result<LaneMark> {
        let before = &self.visit.operation.plan.steps(self.member.rank)[..self.done];
        let is_after_copy =
            matches!(before.last(), Some(RankStep::Copy { lane: of, .. }) if *of == lane);
        if is_after_copy && Capture::of(stream)?.is_none() {
            return Ok(LaneMark::Point(stream.point()));
        }
        let event = self.member.event();
        event.record(stream)?;
        Ok(LaneMark::Event(event))
    }

    fn reduce(
        &self,
        op: ReduceOp,
        into: &BufferRegion,
        inputs: &[BufferRegion],
        is_last: bool,
    ) -> Result<()> {
        let inputs = inputs.iter().map(|input| self.view(input)).collect::<Result<Vec<_>>>()?;
        let divisor = is_last.then(|| self.visit.operation.plan.ranks());
        combine(op, &self.view(into)?, &inputs, divisor)
    }

    fn view(&self, region: &BufferRegion) -> Result<Tensor> {
        view(&self.operands, region)
    }

    /// Ends a rank's part, all of which is enqueued.
    ///
    /// # Errors
    /// The device failed.
    pub(super) fn finish(self) -> Result<()> {
        let end = || {
            let is_written = self.visit.operation.call.writes_tensor_of(self.member.rank);
            come_after_all_uses(self.compute, &self.operands, is_written)?;
            match &self.strided {
                Some(tensor) if is_written => {
                    tensor.detach().copy_(&self.operands.tensor.view_as(tensor)?).map(drop)
                }
                _ => Ok(()),
            }
        };
        match end() {
            Ok(()) => {
                self.visit.finish();
                Ok(())
            }
            Err(error) => Err(self.visit.fail(error)),
        }
    }
}

fn view(operands: &RankOperands, region: &BufferRegion) -> Result<Tensor> {
    operands.buffer(region.buffer).narrow(0, region.range.start, region.len())
}

/// Makes a stream come after what was done with the memory so far, by whichever streams, and be the
/// last that used it. The tensor itself may be only read.
fn come_after_all_uses(stream: &Stream, operands: &RankOperands, is_written: bool) -> Result<()> {
    let tensor =
        if is_written { operands.tensor.cuda_write() } else { operands.tensor.cuda_read() };
    let own = [&operands.result, &operands.scratch].into_iter().flatten().map(Tensor::cuda_write);
    let views = once(tensor).chain(own).collect::<Result<Vec<_>>>()?;
    CudaView::enqueue(stream, &views, || Ok(()))
}
