#!/usr/bin/env python3
"""Draws a small exam from exported folders and writes it compressed: what is checked in beside the runner.

usage: pack.py OUT SEED COUNT DIR...
Cases are drawn in turns, one of each operation and dtype after the other, so that each operation is there, until there are COUNT of them.
OUT gets cases.jsonl.gz, tensors.safetensors.gz and manifest.json.
"""
import gzip, json, pathlib, random, sys
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from safetensors import safe_open
from safetensors.torch import save
import torch


def pools_of(folder):
    with safe_open(str(folder / "tensors.safetensors"), framework="pt") as f:
        return {k: f.get_tensor(k) for k in f.keys()}


class Packer:
    def __init__(self):
        self.parts, self.lengths, self.known = {}, {}, {}

    def moved(self, x, pools):
        """A value whose tensors lie in the new pools."""
        if isinstance(x, list):
            return [self.moved(y, pools) for y in x]
        if not isinstance(x, dict):
            return x
        if "t" in x and "shape" in x:
            return {**x, "t": self.store(*x["t"], pools)}
        return {k: self.moved(v, pools) for k, v in x.items()}

    def store(self, short, at, n, pools):
        if n == 0:
            return [short, 0, 0]
        part = pools[short][at:at + n]
        key = (short, bytes(part.contiguous().view(torch.uint8).numpy().tobytes()))
        if key not in self.known:
            self.known[key] = [short, self.lengths.get(short, 0), n]
            self.parts.setdefault(short, []).append(part)
            self.lengths[short] = self.lengths.get(short, 0) + n
        return self.known[key]


def drawn(cases, rng, count):
    """Numbers of `count` cases: in turns one of each group, and in a group one of each dtype."""
    groups = {}
    for i, (_, case) in enumerate(cases):
        op = case["id"] % 50 if case["kind"] == "program" else case["op"]  # all programs have one name
        groups.setdefault((case["kind"], op, case.get("error") is not None), {}).setdefault((case["variant"], case["dtype"], case.get("layout")), []).append(i)
    for dtypes in groups.values():
        for found in dtypes.values():
            rng.shuffle(found)
    chosen = []
    while len(chosen) < count and groups:
        for key in list(groups):
            place = rng.choice(sorted(groups[key], key=str))
            chosen.append(groups[key][place].pop())
            if not groups[key][place]:
                del groups[key][place]
            if not groups[key]:
                del groups[key]
    return sorted(chosen[:count])


def main():
    out, seed, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    folders = [pathlib.Path(d) for d in sys.argv[4:]]
    pools = [pools_of(f) for f in folders]
    cases = [(n, json.loads(line)) for n, f in enumerate(folders) for line in open(f / "cases.jsonl")]
    manifests = [json.loads((f / "manifest.json").read_text()) for f in folders]
    packer, lines = Packer(), []
    for i in drawn(cases, random.Random(seed), count):
        n, case = cases[i]
        case = packer.moved({**case, "id": len(lines)}, pools[n])
        lines.append(json.dumps(case, separators=(",", ":"), allow_nan=False) + "\n")
    out.mkdir(parents=True, exist_ok=True)
    tensors = save({short: torch.cat(parts) for short, parts in packer.parts.items()})
    for name, data in (("cases.jsonl", "".join(lines).encode()), ("tensors.safetensors", tensors)):
        with open(out / (name + ".gz"), "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as packed:
            packed.write(data)
    first = manifests[0]
    manifest = dict(protocol=first["protocol"], torch=first["torch"], seed=first["seed"], drawn_with=seed, cases=len(lines),
                    of={m["kind"]: {k: m[k] for k in ("cases", "cap", "largest")} for m in manifests})
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"{len(lines)} cases, {sum((out / f).stat().st_size for f in ('cases.jsonl.gz', 'tensors.safetensors.gz')) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
