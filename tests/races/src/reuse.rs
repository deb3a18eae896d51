//! Memory that one tensor gave back and another one got.

use tensor::Tensor;

use crate::lab::NamedPrograms;

pub(crate) const RACY: NamedPrograms = &[
    ("memory that another stream is the first to use anew", |lab| {
        let x = lab.on(&lab.a, || Tensor::ones([1024], lab.device))?;
        drop(x);
        let y = lab.on(&lab.a, || Tensor::empty([1024], lab.device))?;
        lab.on(&lab.b, || y.fill_(3.0))?;
        lab.is(&y, &[3.0; 1024])
    }),
    ("memory that is still read when it is used anew", |lab| {
        let x = lab.ones([1024])?;
        let sum = lab.on(&lab.a, || x.sum(()))?;
        drop(x);
        let y = lab.on(&lab.a, || Tensor::empty([1024], lab.device))?;
        lab.on(&lab.b, || y.fill_(3.0))?;
        Ok(lab.is(&sum, &[1024.0])? && lab.is(&y, &[3.0; 1024])?)
    }),
    ("a copy into memory that was given back", |lab| {
        let source = lab.ones([1024])?;
        let x = lab.on(&lab.a, || Tensor::zeros([1024], lab.device))?;
        drop(x);
        let y = lab.on(&lab.a, || Tensor::empty([1024], lab.device))?;
        lab.on(&lab.b, || y.copy_(&source))?;
        lab.is(&y, &[1.0; 1024])
    }),
    ("a part of a larger piece of memory that was given back", |lab| {
        let x = lab.on(&lab.a, || Tensor::ones([4096], lab.device))?;
        drop(x);
        let y = lab.on(&lab.a, || Tensor::empty([256], lab.device))?;
        lab.on(&lab.b, || y.fill_(3.0))?;
        lab.is(&y, &[3.0; 256])
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("memory that the same stream uses anew", |lab| {
        let x = lab.on(&lab.a, || Tensor::ones([1024], lab.device))?;
        let sum = lab.on(&lab.a, || x.sum(()))?;
        drop(x);
        let y = lab.on(&lab.a, || Tensor::zeros([1024], lab.device))?;
        Ok(lab.is(&sum, &[1024.0])? && lab.is(&y, &[0.0; 1024])?)
    }),
    ("memory that another stream uses anew once it has waited", |lab| {
        let x = lab.on(&lab.a, || Tensor::ones([1024], lab.device))?;
        drop(x);
        let y = lab.on(&lab.a, || Tensor::empty([1024], lab.device))?;
        lab.b.wait_stream(&lab.a)?;
        lab.on(&lab.b, || y.fill_(3.0))?;
        lab.is(&y, &[3.0; 1024])
    }),
    ("memory that a side stream still reads when it is given back", |lab| {
        let x = lab.ones([1024])?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        drop(x);
        let y = lab.on(&lab.a, || Tensor::zeros([1024], lab.device))?;
        Ok(lab.is(&sum, &[1024.0])? && lab.is(&y, &[0.0; 1024])?)
    }),
    ("memory that is given back and got again and again", |lab| {
        for turn in 0..20 {
            let x = lab.on(&lab.a, || Tensor::full([1024], f64::from(turn), lab.device))?;
            lab.b.wait_stream(&lab.a)?;
            let sum = lab.on(&lab.b, || x.sum(()))?;
            drop(x);
            if !lab.is(&sum, &[turn as f32 * 1024.0])? {
                return Ok(false);
            }
        }
        Ok(true)
    }),
];
