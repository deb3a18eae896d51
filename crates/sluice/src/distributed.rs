//! What devices and processes exchange: all-reduce, broadcast and their like (`torch.distributed`,
//! `torch.cuda.comm`).

pub use collectives::{
    Algorithm, BufferRegion, Collective, CollectiveError, CollectivePlan, Communicator,
    DeviceCommunicator, DeviceGroup, GroupLinks, Lane, RankBuffer, RankStep, ReduceOp, Signal,
};
