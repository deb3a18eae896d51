//! Graphs: what a launch reads and writes, all at once.

use gpu_runtime::{DeviceBuffer, GraphExec};

use crate::lab::{Lab, NamedPrograms, Result, in_order};

pub(crate) const RACY: NamedPrograms = &[
    ("an input that is written on another stream before the launch", |lab| {
        let mut graph = Doubled::new(lab)?;
        lab.b.copy_htod_into(&[7; 8], &mut graph.input)?;
        graph.exec.launch(&lab.a)?;
        graph.holds(lab, 7)
    }),
    ("an input that is written anew while the graph runs", |lab| {
        let mut graph = Doubled::new(lab)?;
        graph.exec.launch(&lab.a)?;
        lab.b.copy_htod_into(&[7; 8], &mut graph.input)?;
        graph.holds(lab, 1)
    }),
    ("an output that is read on another stream", |lab| {
        let graph = Doubled::new(lab)?;
        graph.exec.launch(&lab.a)?;
        let arriving = lab.b.copy_dtoh(&graph.output)?;
        Ok(arriving.wait()? == [1; 8])
    }),
    ("two graphs that write one output", |lab| {
        let mut graph = Doubled::new(lab)?;
        let other = graph.another(lab)?;
        lab.a.copy_htod_into(&[7; 8], &mut graph.input)?;
        lab.b.wait_stream(&lab.a)?;
        graph.exec.launch(&lab.a)?;
        other.launch(&lab.b)?;
        graph.holds(lab, 7)
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("an input that the launch waits for", |lab| {
        let mut graph = Doubled::new(lab)?;
        lab.b.copy_htod_into(&[7; 8], &mut graph.input)?;
        lab.a.wait_stream(&lab.b)?;
        graph.exec.launch(&lab.a)?;
        graph.holds(lab, 7)
    }),
    ("an input that is written anew once the graph has run", |lab| {
        let mut graph = Doubled::new(lab)?;
        graph.exec.launch(&lab.a)?;
        lab.b.wait_event(&lab.a.record_event()?)?;
        lab.b.copy_htod_into(&[7; 8], &mut graph.input)?;
        graph.holds(lab, 1)
    }),
    ("launches of one graph on two streams, which the driver keeps apart", |lab| {
        let graph = Doubled::new(lab)?;
        graph.exec.launch(&lab.a)?;
        graph.exec.launch(&lab.b)?;
        graph.holds(lab, 1)
    }),
    ("an output that is read on the stream of the launch", |lab| {
        let graph = Doubled::new(lab)?;
        graph.exec.launch(&lab.a)?;
        Ok(lab.a.copy_dtoh(&graph.output)?.wait()? == [1; 8])
    }),
];

/// A graph that copies its input to its output by way of a third buffer.
struct Doubled {
    input: DeviceBuffer<u32>,
    between: DeviceBuffer<u32>,
    output: DeviceBuffer<u32>,
    exec: GraphExec,
}

impl Doubled {
    /// With ones in the input, and nothing to be waited for.
    fn new(lab: &Lab) -> Result<Doubled> {
        let [input, mut between, mut output] = in_order(|| {
            let buffer = |value: u32| lab.a.copy_htod(&[value; 8]);
            Ok([buffer(1)?, buffer(0)?, buffer(0)?])
        })?;
        lab.finish()?;
        let exec = captured(lab, &input, &mut between, &mut output)?;
        Ok(Doubled { input, between, output, exec })
    }

    /// The same work in another graph.
    fn another(&mut self, lab: &Lab) -> Result<GraphExec> {
        captured(lab, &self.input, &mut self.between, &mut self.output)
    }

    fn holds(&self, lab: &Lab, value: u32) -> Result<bool> {
        lab.finish()?;
        Ok(lab.a.copy_dtoh(&self.output)?.wait()? == [value; 8])
    }
}

fn captured(
    lab: &Lab,
    input: &DeviceBuffer<u32>,
    between: &mut DeviceBuffer<u32>,
    output: &mut DeviceBuffer<u32>,
) -> Result<GraphExec> {
    let (graph, ()) = lab.a.capture(|_| {
        lab.a.copy_dtod(input, between)?;
        lab.a.copy_dtod(between, output)
    })?;
    Ok(graph.instantiate()?)
}
