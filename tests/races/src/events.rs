//! Events and waits: forgotten, too early, too late, of something else.

use tensor::cuda::Event;

use crate::lab::NamedPrograms;

pub(crate) const RACY: NamedPrograms = &[
    ("an event that nobody waits for", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        let _event = lab.a.record_event()?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("an event of another stream", |lab| {
        let (x, y) = (lab.ones([8])?, lab.ones([8])?);
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.on(&lab.c, || y.fill_(2.0))?;
        lab.b.wait_event(&lab.c.record_event()?)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("an event that was recorded too early", |lab| {
        let x = lab.ones([8])?;
        let event = lab.a.record_event()?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.b.wait_event(&event)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("an event that was recorded anew elsewhere", |lab| {
        let x = lab.ones([8])?;
        let event = Event::new();
        lab.on(&lab.a, || x.fill_(2.0))?;
        event.record(&lab.a)?;
        event.record(&lab.c)?;
        lab.b.wait_event(&event)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("an event that was never recorded", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.b.wait_event(&Event::new())?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a wait of the wrong stream", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.c.wait_stream(&lab.a)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a wait that comes too late", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.b.wait_stream(&lab.a)?;
        lab.is(&sum, &[16.0])
    }),
    ("a chain with a link that is too short", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        let before = lab.c.record_event()?;
        lab.c.wait_stream(&lab.a)?;
        lab.b.wait_event(&before)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a wait for the write and none for the one after it", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.b.wait_event(&lab.a.record_event()?)?;
        lab.on(&lab.a, || x.fill_(3.0))?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[24.0])
    }),
    ("a wait in the wrong direction", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.a.wait_stream(&lab.b)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("an event and a wait for it", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        let event = lab.a.record_event()?;
        lab.b.wait_event(&event)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a stream that waits for the other", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.b.wait_stream(&lab.a)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a chain over a third stream", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.c.wait_stream(&lab.a)?;
        lab.b.wait_event(&lab.c.record_event()?)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a wait for the recording before the event was recorded anew", |lab| {
        let x = lab.ones([8])?;
        let event = Event::new();
        lab.on(&lab.a, || x.fill_(2.0))?;
        event.record(&lab.a)?;
        lab.b.wait_event(&event)?;
        event.record(&lab.c)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("an event that was recorded anew later on the same stream", |lab| {
        let x = lab.ones([8])?;
        let event = Event::new();
        event.record(&lab.a)?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        event.record(&lab.a)?;
        lab.b.wait_event(&event)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("a fork and a join", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        lab.b.wait_stream(&lab.a)?;
        lab.c.wait_stream(&lab.a)?;
        lab.on(&lab.b, || x.narrow(0, 0, 4)?.add_(1.0))?;
        lab.on(&lab.c, || x.narrow(0, 4, 4)?.add_(2.0))?;
        lab.a.wait_stream(&lab.b)?;
        lab.a.wait_stream(&lab.c)?;
        let sum = lab.on(&lab.a, || x.sum(()))?;
        lab.is(&sum, &[28.0])
    }),
    ("a point that was taken after the write", |lab| {
        let x = lab.ones([8])?;
        lab.on(&lab.a, || x.fill_(2.0))?;
        let point = lab.a.point();
        lab.b.wait_point(&point)?;
        let sum = lab.on(&lab.b, || x.sum(()))?;
        lab.is(&sum, &[16.0])
    }),
    ("streams that take turns", |lab| {
        let x = lab.ones([8])?;
        for _ in 0..5 {
            lab.on(&lab.a, || x.add_(1.0))?;
            lab.b.wait_stream(&lab.a)?;
            lab.on(&lab.b, || x.mul_(2.0))?;
            lab.a.wait_stream(&lab.b)?;
        }
        lab.is(&x, &[94.0; 8])
    }),
];
