//! Errors of captures and graphs.

use std::fmt;

use cuda_sys::CUgraphExecUpdateResult as UpdateResult;

use crate::types::{GraphNode, StreamId};

/// Why something cannot be done during a capture, or with what was captured. Nothing was done: the
/// capture, the streams and the memory are as they were.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureProblem {
    /// A stream is captured by one capture at a time.
    #[error("{stream} is being captured already")]
    StreamTaken {
        /// The stream.
        stream: StreamId,
    },
    /// A thread is in one capture at a time.
    #[error("this thread captures {stream} already; end that capture first")]
    ThreadTaken {
        /// The stream on which that capture began.
        stream: StreamId,
    },
    /// A call that the capture's mode forbids.
    #[error(
        "no capture sees this, so one that is in progress forbids it: do it before the capture, or \
         under with_capture_mode(CaptureMode::Relaxed, ..)"
    )]
    Forbidden,
    /// The stream is being captured, so its work does not run.
    #[error(
        "{stream} is being captured, and what is captured does not run: there is nothing to wait \
         for or to ask about before the graph is launched"
    )]
    NothingRuns {
        /// The stream.
        stream: StreamId,
    },
    /// Work that is captured cannot come after work that runs.
    #[error(
        "{stream} is being captured, and {awaited} is not: let {stream} wait before the capture, or \
         permit it to the memory that both use"
    )]
    Outside {
        /// The stream that would wait.
        stream: StreamId,
        /// The stream that it would wait for.
        awaited: StreamId,
    },
    /// Two captures cannot become one.
    #[error("{stream} and {awaited} are being captured into two graphs")]
    TwoCaptures {
        /// The stream that would wait.
        stream: StreamId,
        /// The stream that it would wait for.
        awaited: StreamId,
    },
    /// An event that stands for captured work of a capture that is over.
    #[error("the event was recorded in a capture that is over; record it anew")]
    Over,
    /// Memory of the host that the driver reads or writes in the call itself.
    #[error("the memory of the host is pageable: a graph copies from and to page-locked memory")]
    Pageable,
    /// Work that can be done only once.
    #[error("a graph is launched again and again, and this can be done only once{hint}")]
    Once {
        /// A way out.
        hint: &'static str,
    },
    /// Copies between these two devices go through memory that all copies share.
    #[error("the devices are badly connected, and copies between them share memory of the host")]
    Relayed,
    /// A graph whose launches need something done before them.
    #[error(
        "each launch of the graph needs something done before it, as it draws new random numbers \
         each time, and within another graph nobody would do it: launch it by itself"
    )]
    NeedsPreparation,
    /// Memory that the graph could not hold on to.
    #[error("a graph cannot hold on to this memory: its record is not from Uses::shared()")]
    NotShared,
    /// Memory that a graph fills, which was never launched.
    #[error(
        "the memory was allocated while a graph was captured, and holds nothing before that graph \
         is launched"
    )]
    NeverLaunched,
    /// Streams whose work the first one does not wait for.
    #[error(
        "work on {} is not waited for by the stream on which the capture began; wait_stream joins \
         it, and so does automatic order",
        StreamList(streams)
    )]
    Unjoined {
        /// The streams.
        streams: Vec<StreamId>,
    },
    /// The driver gave the capture up.
    #[error(
        "the driver gave the capture up: something that it forbids was done, or another thread \
         enqueued on the streams while the capture began or ended"
    )]
    Broken,
}

/// Why an executable graph cannot become another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateProblem {
    /// There are more or fewer nodes, or other edges between them.
    #[error("nodes or edges between them are others")]
    Topology,
    /// A node does another kind of work.
    #[error("a node does another kind of work")]
    NodeType,
    /// A kernel is another one, and this driver does not exchange them.
    #[error("a node has another kernel")]
    Function,
    /// Parameters that the node cannot change.
    #[error("a node has other parameters of a kind that cannot change")]
    Parameters,
    /// Attributes that the node cannot change.
    #[error("a node has other attributes")]
    Attributes,
    /// Something that the driver does not update.
    #[error("the driver does not update this")]
    NotSupported,
    /// A reason that the driver does not tell.
    #[error("the driver does not say why")]
    Other,
}

impl UpdateProblem {
    pub(crate) fn of(result: UpdateResult) -> UpdateProblem {
        match result {
            UpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED => UpdateProblem::Topology,
            UpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED => UpdateProblem::NodeType,
            UpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED
            | UpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE => {
                UpdateProblem::Function
            }
            UpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED => {
                UpdateProblem::Parameters
            }
            UpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED => {
                UpdateProblem::Attributes
            }
            UpdateResult::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED => UpdateProblem::NotSupported,
            _ => UpdateProblem::Other,
        }
    }
}

/// StreamList, one after the other.
struct StreamList<'a>(&'a [StreamId]);

impl fmt::Display for StreamList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, stream) in self.0.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            write!(f, "{separator}{stream}")?;
        }
        Ok(())
    }
}

/// The end of a sentence about a node, if it is known.
pub(super) struct At<'a>(pub(super) &'a Option<Box<GraphNode>>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(node) => write!(f, ": {} captured at {}", node.work, node.place),
            None => Ok(()),
        }
    }
}
