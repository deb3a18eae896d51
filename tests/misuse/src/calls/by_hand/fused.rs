//! Functions of closures.

use tensor::{FusedOperand, Tensor, fuse, fuse_many};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "tensor::fuse", "tensor::Fused::named", "tensor::Fused::call", "tensor::FusedValue::to",
    "tensor::FusedValue::select", "tensor::FusedValue::clamp", "tensor::FusedValue::lerp",
    "tensor::FusedValue::pow" => |d| {
        let (x, y, dtype) = (d.tensor()?, d.tensor()?, d.dtype()?);
        let f = fuse(move |[x, y]| {
            let chosen = x.gt(y).select(x.clamp(y, 2).lerp(y, 0.5), x.pow(y) - 1);
            chosen.to(dtype)
        });
        d.look(f.named("chosen").call((&x, &y)).ok());
        Some(())
    };
    "tensor::Fused::call_into" => |d| {
        let (target, x, y) = (d.tensor()?, d.tensor()?, d.tensor()?);
        // What has no meaning for floats, and the target among the operands, also turned.
        let bits = fuse(|[x, y]| (x & y) << 1);
        let _ = bits.call_into(&target, (&target, &x));
        let sum = fuse(|[x, y]| x * 2 + y);
        let _ = sum.call_into(&target, (&y, &target));
        let turned = target.transpose(0, -1).ok()?;
        let _ = sum.call_into(&turned, (&target, 1.5));
        look(d, [target])
    };
    "tensor::FusedMany::call_into" => |d| {
        let (x, y, z) = (d.tensor()?, d.tensor()?, d.tensor()?);
        let exchange = fuse_many(|[x, y, z]| [y + z, x]);
        let _ = exchange.call_into([&x, &y], (&x, &y, 0));
        let _ = exchange.call_into([&x, &x], (&x, &y, &z));
        let turned = x.transpose(0, -1).ok()?;
        let _ = exchange.call_into([&y, &z], (&turned, &z, &y));
        look(d, [x, y, z])
    };
    "tensor::fuse_many", "tensor::FusedMany::named", "tensor::FusedMany::call",
    "tensor::FusedValue::logical_and", "tensor::FusedValue::logical_or",
    "tensor::FusedValue::logical_xor", "tensor::FusedOperand::beside" => |d| {
        let (x, y) = (d.tensor()?, d.tensor()?);
        let f = fuse_many(|[x, y]| {
            let both = x.logical_and(y).logical_or(x);
            [both, both.logical_xor(y), 1.5.beside(x) / y]
        });
        look(d, f.named("three").call((&x, &y)).ok()?)
    };
};

fn look(d: &mut Draw, tensors: impl IntoIterator<Item = Tensor>) -> Option<()> {
    tensors.into_iter().for_each(|tensor| d.look(Some(tensor)));
    Some(())
}
