//! The README's program: a linear function is learned by several processes.
#![allow(clippy::print_stdout, reason = "a program talks to its user")]

use mpi_communicator::MpiCommunicator;
use sluice::optim::SGD;
use sluice::parallel::DistributedDataParallel;
use sluice::prelude::*;

fn main() -> Result<()> {
    MpiCommunicator::init()?.run(|communicator| {
        let rank = communicator.rank();
        // Each rank begins with the first one's parameters, and averages its gradients with the
        // others'.
        let mut model = DistributedDataParallel::new(nn::Linear::new(3, 1)?, communicator)?;
        let mut optimizer = SGD::new(model.parameters(), 0.1).build()?;
        for _ in 0..100 {
            let x = Tensor::randn([8, 3], ())?; // this rank's share of the data
            let loss = (model.forward(&x)? - x.sum(keepdim(-1))?)?.square()?.mean(())?;
            optimizer.zero_grad();
            model.backward(&loss)?;
            optimizer.step()?;
        }
        if rank == 0 {
            println!("{}", model.module().weight());
        }
        Ok(())
    })
}
