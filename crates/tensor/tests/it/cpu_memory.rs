//! The memory of tensors on the CPU.

use tensor::{Error, Result, Tensor, cpu};
use test_support::isolate;

const MIB: usize = 1 << 20;

#[test]
fn memory_of_a_tensor_that_was_dropped_serves_the_next_one() {
    isolate(|| {
        let bytes = (4 * MIB) as u64;
        for _ in 0..3 {
            let x = Tensor::ones([MIB], ()).expect("memory");
            assert!((bytes..bytes + 4096).contains(&cpu::memory_allocated()));
            drop(x);
            assert_eq!(cpu::memory_allocated(), 0);
        }
        assert_eq!(cpu::memory_stats().num_host_alloc, 1);
        assert!(cpu::max_memory_allocated() < 2 * bytes && cpu::memory_reserved() >= bytes);
        cpu::empty_cache();
        assert_eq!(cpu::memory_reserved(), 0);
    })
    .run();
}

#[test]
fn an_operation_whose_result_exceeds_the_limit_is_an_error_and_changes_nothing() {
    isolate(|| {
        let run = || -> Result<()> {
            cpu::set_memory_limit(14 * MIB);
            let x = Tensor::ones([MIB], ())?;
            let y = Tensor::ones([MIB], ())?;
            let refused = x.add(&y)?.add(&x).expect_err("the fourth does not fit");
            let message = refused.to_string();
            assert!(matches!(refused, Error::Allocation(_)), "{message}");
            assert!(message.contains("limit is 14"), "{message}");
            x.add_(&y)?;
            assert_eq!(x.to_vec::<f32>()?, vec![2.0; MIB]);
            Ok(())
        };
        run().expect("all others fit");
    })
    .run();
}
