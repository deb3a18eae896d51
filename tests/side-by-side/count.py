"""Counts the lines of the same programs on Sluice, candle and PyTorch, and prints a table.

    python3 tests/side-by-side/count.py

Blank lines, comments and switches of linters do not count. The programs are formatted by rustfmt
and by `black --line-length 100`, so that lines are as long in both languages.
"""

from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = {
    "perceptron": "perceptron",
    "pretrained": "pretrained",
    "dataset": "dataset",
    "dataset_type": "dataset",
    "two_gpus": "two_gpus",
    "transformer": "transformer",
}


def lines(path):
    """The number of lines that say something, or `None` if there is no such program."""
    if not path.exists():
        return None
    text = [line.strip() for line in path.read_text().splitlines()]
    return sum(1 for line in text if line and not line.startswith(("//", "#!", "# ")))


def ratio(ours, theirs):
    return "" if theirs is None else f"{ours / theirs:.2f}"


print("| program | Sluice | candle | PyTorch | of candle's | of PyTorch's |")
print("|---|---|---|---|---|---|")
for name, theirs in PROGRAMS.items():
    ours = lines(HERE / "sluice" / f"{name}.rs")
    candle = lines(HERE / "candle" / f"{name}.rs")
    pytorch = lines(HERE / "pytorch" / f"{theirs}.py")
    cells = [name, ours, candle or "", pytorch, ratio(ours, candle), ratio(ours, pytorch)]
    print("| " + " | ".join(str(cell) for cell in cells) + " |")
