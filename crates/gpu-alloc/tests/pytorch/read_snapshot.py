"""Lets PyTorch's own functions read a pickled snapshot; prints what they found as JSON.

Usage: read_snapshot.py SNAPSHOT. Exits with 3 where there is no PyTorch. Only its file of pure
Python is loaded, so any build will do, also one whose GPU libraries are missing.
"""

import importlib.util
import json
import pathlib
import pickle
import pickletools
import sys

# What the viewer in the browser can read, by its source (`unpickle` in MemoryViz.js).
BROWSER = set(
    "APPEND APPENDS BINFLOAT BINGET BININT BININT1 BININT2 BINPUT BINUNICODE DICT EMPTY_DICT "
    "EMPTY_LIST EMPTY_TUPLE FRAME LIST LONG1 LONG_BINGET LONG_BINPUT MARK MEMOIZE NEWFALSE NEWTRUE "
    "NONE PROTO SETITEM SETITEMS SHORT_BINUNICODE STOP TUPLE TUPLE1 TUPLE2 TUPLE3".split()
)


def viewer():
    torch = importlib.util.find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        sys.exit(3)
    path = pathlib.Path(torch.submodule_search_locations[0]) / "cuda" / "_memory_viz.py"
    spec = importlib.util.spec_from_file_location("_memory_viz", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    viz = viewer()
    with open(sys.argv[1], "rb") as file:
        pickled = file.read()
    data = pickle.loads(pickled)

    def lines(text):
        return text.splitlines()

    print(json.dumps({
        "segsum": [line for line in lines(viz.segsum(data)) if ": " in line][:5],
        "trace": lines(viz.trace(data)),
        "memory": lines(viz.memory(data, format_flamegraph=lambda text: text)),
        "segments": lines(viz.segments(data, format_flamegraph=lambda text: text)),
        "compare": lines(viz.compare([], data["segments"], format_flamegraph=lambda text: text)),
        # Pages for the browser, with the pickle inside, and what it would stumble over.
        "unreadable": sorted({op.name for op, _, _ in pickletools.genops(pickled)} - BROWSER),
        "trace_plot": len(viz.trace_plot(data)),
        "segment_plot": len(viz.segment_plot(data)),
    }))


main()
