//! Graphs as text for Graphviz.

use std::fmt::{self, Write};

use super::body::GraphTemplate;
use super::operation::NodeOperation;
use super::plan::living;

/// The graph in the DOT language: nodes with what they do, child graphs as clusters.
pub(crate) fn dot(graph: &GraphTemplate, with_handles: bool) -> String {
    let mut text = String::from("digraph dot {\n");
    // Writing to a string does not fail.
    let _ = cluster(&mut text, graph, "graph", with_handles);
    text + "}\n"
}

fn cluster(
    text: &mut String,
    graph: &GraphTemplate,
    name: &str,
    with_handles: bool,
) -> fmt::Result {
    let (nodes, edges) = living(graph);
    writeln!(text, "subgraph cluster_{name} {{\nlabel=\"{name}\" graph[style=\"dashed\"];")?;
    for (number, node) in nodes.iter().enumerate() {
        let (shape, label) = label(&node.operation);
        let label = label.replace('\\', "\\\\").replace('"', "\\\"");
        write!(text, "\"{name}_node_{number}\"[shape=\"{shape}\" label=\"{number}\\n{label}")?;
        if with_handles {
            write!(text, "\\n{:#x}", node.handle)?;
        }
        text.push_str("\"];\n");
        if let NodeOperation::Child(child) = &node.operation {
            cluster(text, child, &format!("{name}_{number}"), with_handles)?;
        }
    }
    for (number, edges) in edges.iter().enumerate() {
        for (from, _) in edges {
            writeln!(text, "\"{name}_node_{from}\" -> \"{name}_node_{number}\";")?;
        }
    }
    text.push_str("}\n");
    Ok(())
}

fn label(operation: &NodeOperation) -> (&'static str, String) {
    match operation {
        NodeOperation::Kernel(call) => {
            let (shape, name) = (call.shape, &call.function.name);
            let [x, y, z] = shape.grid;
            let [a, b, c] = shape.block;
            let shared = shape.dynamic_shared;
            ("octagon", format!("{name}\\<\\<\\<({x},{y},{z}),({a},{b},{c}),{shared}\\>\\>\\>"))
        }
        NodeOperation::Copy(copy, _) => {
            let (to, from) = (copy.to.address, copy.from.address);
            let extent = format!("{}x{}x{}", copy.width, copy.height, copy.depth);
            ("invtrapezium", format!("MEMCPY {from:#x} to {to:#x}, {extent} bytes"))
        }
        NodeOperation::Fill(fill, _) => {
            let extent = format!("{}x{} of {}", fill.width, fill.height, fill.size);
            ("invtrapezium", format!("MEMSET {:#x} = {:#x}, {extent}", fill.address, fill.value))
        }
        NodeOperation::Child(_) => ("box", "GRAPH".to_owned()),
        NodeOperation::Conditional(_) => ("diamond", "CONDITIONAL".to_owned()),
        NodeOperation::Host(_) => ("box", "HOST".to_owned()),
        other => ("ellipse", format!("type {}", other.node_type().0)),
    }
}
