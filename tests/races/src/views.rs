//! Views of one tensor on two streams: which bytes they share, and who of them writes.

use tensor::{DType, Tensor};

use crate::lab::NamedPrograms;

pub(crate) const RACY: NamedPrograms = &[
    ("a sum of what another stream writes", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a view that overlaps the one that is written", |lab| {
        let x = lab.zeros([10])?;
        lab.on(&lab.a, || x.narrow(0, 0, 6)?.fill_(1.0))?;
        let y = lab.on(&lab.b, || x.narrow(0, 4, 6)?.mul(1.0))?;
        lab.is(&y, &[1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    }),
    ("views that share one element", |lab| {
        let x = lab.zeros([9])?;
        lab.on(&lab.a, || x.narrow(0, 0, 5)?.fill_(1.0))?;
        let y = lab.on(&lab.b, || x.narrow(0, 4, 5)?.sum(()))?;
        lab.is(&y, &[1.0])
    }),
    ("columns that overlap", |lab| {
        let x = lab.zeros([4, 6])?;
        lab.on(&lab.a, || x.narrow(1, 0, 3)?.fill_(1.0))?;
        let y = lab.on(&lab.b, || x.narrow(1, 2, 2)?.sum(()))?;
        lab.is(&y, &[4.0])
    }),
    ("a row and a column", |lab| {
        let x = lab.zeros([4, 6])?;
        lab.on(&lab.a, || x.select(0, 1)?.fill_(1.0))?;
        let y = lab.on(&lab.b, || x.select(1, 2)?.sum(()))?;
        lab.is(&y, &[1.0])
    }),
    ("a transposed view", |lab| {
        let x = lab.zeros([3, 4])?;
        lab.on(&lab.a, || x.fill_(1.0))?;
        let y = lab.on(&lab.b, || x.t()?.sum(()))?;
        lab.is(&y, &[12.0])
    }),
    ("every second element and every third", |lab| {
        let x = lab.zeros([12])?;
        lab.on(&lab.a, || x.slice(0, 0, 12, 2)?.fill_(1.0))?;
        let y = lab.on(&lab.b, || x.slice(0, 0, 12, 3)?.sum(()))?;
        lab.is(&y, &[2.0])
    }),
    ("a row that is repeated", |lab| {
        let x = lab.zeros([1, 4])?;
        lab.on(&lab.a, || x.fill_(1.0))?;
        let y = lab.on(&lab.b, || x.expand([3, 4])?.sum(()))?;
        lab.is(&y, &[12.0])
    }),
    ("a write after a read", |lab| {
        let x = lab.ones([8])?;
        let sum = lab.on(&lab.a, || x.sum(()))?;
        lab.on(&lab.b, || x.fill_(5.0))?;
        lab.is(&sum, &[8.0])
    }),
    ("two writes", |lab| {
        let x = lab.zeros([4])?;
        lab.on(&lab.a, || x.fill_(1.0))?;
        lab.on(&lab.b, || x.fill_(2.0))?;
        lab.is(&x, &[2.0; 4])
    }),
    ("a write that waits for one of two readers", |lab| {
        let x = lab.ones([8])?;
        let one = lab.on(&lab.a, || x.sum(()))?;
        let two = lab.on(&lab.b, || x.sum(()))?;
        lab.c.wait_stream(&lab.a)?;
        lab.on(&lab.c, || x.fill_(3.0))?;
        Ok(lab.is(&one, &[8.0])? && lab.is(&two, &[8.0])?)
    }),
    ("two updates in place", |lab| {
        let x = lab.ones([4])?;
        lab.on(&lab.a, || x.add_(1.0))?;
        lab.on(&lab.b, || x.mul_(2.0))?;
        lab.is(&x, &[4.0; 4])
    }),
    ("indices that another stream writes", |lab| {
        let x = lab.ones([4])?;
        let index = lab.on(&lab.a, || Tensor::zeros([2], (DType::I64, lab.device)))?;
        let y = lab.on(&lab.b, || x.index_select(0, &index))?;
        lab.is(&y, &[1.0, 1.0])
    }),
    ("an operand of a product", |lab| {
        let (x, y) = (lab.ones([2, 2])?, lab.zeros([2, 2])?);
        lab.on(&lab.a, || y.fill_(3.0))?;
        let z = lab.on(&lab.b, || x.matmul(&y))?;
        lab.is(&z, &[6.0; 4])
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("two halves", |lab| {
        let x = lab.zeros([10])?;
        lab.on(&lab.a, || x.narrow(0, 0, 5)?.fill_(1.0))?;
        let y = lab.on(&lab.b, || x.narrow(0, 5, 5)?.sum(()))?;
        lab.is(&y, &[0.0])
    }),
    ("columns side by side", |lab| {
        let x = lab.zeros([4, 6])?;
        lab.on(&lab.a, || x.narrow(1, 0, 3)?.fill_(1.0))?;
        lab.on(&lab.b, || x.narrow(1, 3, 3)?.fill_(2.0))?;
        lab.is(&x.select(0, 3)?, &[1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    }),
    ("even and odd elements", |lab| {
        let x = lab.zeros([6])?;
        lab.on(&lab.a, || x.slice(0, 0, 6, 2)?.fill_(1.0))?;
        lab.on(&lab.b, || x.slice(0, 1, 6, 2)?.fill_(2.0))?;
        lab.is(&x, &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0])
    }),
    ("quarters of a matrix", |lab| {
        let x = lab.zeros([4, 4])?;
        let quarter = |row, column| x.narrow(0, row, 2)?.narrow(1, column, 2);
        lab.on(&lab.a, || quarter(0, 0)?.fill_(1.0))?;
        lab.on(&lab.b, || quarter(0, 2)?.fill_(2.0))?;
        lab.on(&lab.c, || quarter(2, 0)?.add_(3.0))?;
        lab.finish()?;
        lab.is(&x.sum(())?, &[24.0])
    }),
    ("two readers", |lab| {
        let x = lab.ones([8])?;
        let one = lab.on(&lab.a, || x.sum(()))?;
        let two = lab.on(&lab.b, || x.narrow(0, 2, 3)?.sum(()))?;
        Ok(lab.is(&one, &[8.0])? && lab.is(&two, &[3.0])?)
    }),
    ("a write that waits for both readers", |lab| {
        let x = lab.ones([8])?;
        let one = lab.on(&lab.a, || x.sum(()))?;
        let two = lab.on(&lab.b, || x.sum(()))?;
        lab.c.wait_stream(&lab.a)?;
        lab.c.wait_stream(&lab.b)?;
        lab.on(&lab.c, || x.fill_(3.0))?;
        Ok(lab.is(&one, &[8.0])? && lab.is(&two, &[8.0])?)
    }),
    ("everything on one stream", |lab| {
        let x = lab.ones([8])?;
        let sum = lab.on(&lab.a, || {
            x.fill_(2.0)?;
            x.narrow(0, 0, 4)?.add_(1.0)?;
            x.sum(())
        })?;
        lab.is(&sum, &[20.0])
    }),
    ("a row on one stream and another row on another", |lab| {
        let x = lab.zeros([4, 6])?;
        lab.on(&lab.a, || x.select(0, 1)?.fill_(1.0))?;
        let y = lab.on(&lab.b, || x.select(0, 2)?.sum(()))?;
        lab.is(&y, &[0.0])
    }),
];
