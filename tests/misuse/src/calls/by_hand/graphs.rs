//! Captures and graphs.

use gpu_runtime::{Capture, Error, Graph, GraphExec};
use tensor::Tensor;

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "gpu_runtime::Stream::begin_capture", "gpu_runtime::Capture::of",
    "gpu_runtime::CaptureGuard::end" => |d| {
        let stream = d.stream()?;
        let guard = stream.begin_capture(d.capture_mode()?).ok()?;
        let (other, tensor) = (d.stream()?, d.tensor());
        let _ = Capture::of(&other);
        let _ = other.wait_stream(&stream);
        let _ = tensor.map(|tensor| tensor.add_(1));
        let _ = other.synchronize();
        let _ = stream.wait_stream(&other);
        if d.flag()? {
            drop(launched(d, &guard.end().ok()?));
        }
        Some(())
    };
    "gpu_runtime::Stream::capture", "gpu_runtime::Capture::attach", "gpu_runtime::Capture::record",
    "gpu_runtime::Capture::write", "gpu_runtime::GraphExec::launch" => |d| {
        let (stream, other, recycled) = (d.stream()?, d.stream()?, d.flag()?);
        let value = std::sync::Arc::new(7u8);
        let (graph, ()) = stream
            .capture(|capture| {
                drop(capture.attach(std::sync::Arc::clone(&value)));
                drop(capture.attached::<u8>());
                capture.write(&capture.record(&other, recycled));
                Ok::<_, Error>(())
            })
            .ok()?;
        drop(launched(d, &graph));
        Some(())
    };
    "gpu_runtime::Capture::before_each_launch", "gpu_runtime::Capture::after_each_launch",
    "gpu_runtime::Capture::fills", "gpu_runtime::outside_of_captures" => |d| {
        let (stream, buffer, fails) = (d.stream()?, d.buffer()?, d.flag()?);
        let (graph, ()) = stream
            .capture(|capture| {
                capture.before_each_launch(move |stream| {
                    let _ = gpu_runtime::outside_of_captures(|| stream.point());
                    if fails { Err("as it was drawn".into()) } else { Ok(()) }
                });
                capture.after_each_launch(|| ());
                let _ = capture.fills(buffer.uses());
                Ok::<_, Error>(())
            })
            .ok()?;
        let exec = launched(d, &graph);
        let other = d.stream()?;
        let _ = other.capture(|_| exec.map_or(Ok(()), |exec| exec.launch(&other)));
        Some(())
    };
    "gpu_runtime::GraphExec::update" => |d| {
        let (one, two) = (d.graph()?, d.graph()?);
        let exec = launched(d, &one)?;
        drop(one);
        let _ = exec.update(&two);
        let _ = exec.launch(&d.stream()?);
        drop(two);
        Some(())
    };
    // What a graph uses is dropped, read and written while it is on its way.
    "gpu_runtime::Graph::instantiate" => |d| {
        let (stream, x) = (d.tensor_stream()?, d.tensor()?);
        let target = Tensor::zeros(x.shape(), x.dtype()).and_then(|zeros| zeros.pin_memory()).ok()?;
        let (graph, y) = stream
            .capture(|_| {
                let y = x.mul(2)?;
                target.copy_with(&y, tensor::Blocking::No)?;
                Ok::<_, tensor::Error>(y)
            })
            .ok()?;
        let guard = target.read::<f32>();
        let exec = launched(d, &graph);
        drop(guard);
        d.look(Some(target));
        drop((graph, x));
        d.look(Some(y));
        let _ = exec?.launch(&d.stream()?);
        Some(())
    };
};

fn launched(d: &mut Draw, graph: &Graph) -> Option<GraphExec> {
    let _ = (graph.nodes().len(), graph.inputs(), graph.edges());
    let exec = graph.instantiate().ok()?;
    let stream = d.stream()?;
    let _ = exec.launch(&stream);
    let _ = exec.launch(&stream);
    Some(exec)
}
