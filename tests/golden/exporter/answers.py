"""Folders of cases, and the comparison of answers with what they expect."""
import json, pathlib
import torch
from safetensors import safe_open

DTYPE = dict(f64=torch.float64, f32=torch.float32, f16=torch.float16, bf16=torch.bfloat16, i64=torch.int64, i32=torch.int32,
             i16=torch.int16, i8=torch.int8, u8=torch.uint8, bool=torch.bool)
EXACT = False


class Wrong(Exception):
    pass


class Unsupported(Exception):
    pass


# reading

class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        with safe_open(str(self.path / "tensors.safetensors"), framework="pt") as f:
            self.pools = {k: f.get_tensor(k) for k in f.keys()}

    def cases(self):
        with open(self.path / "cases.jsonl") as f:
            return [json.loads(line) for line in f]

    def tensor(self, x, expected=False):
        short, at, n = x["t"]
        flat = self.pools[short][at:at + n].clone() if short in self.pools else torch.empty(0, dtype=DTYPE[short])
        strides = x.get("strides")
        if strides is None:
            strides, step = [], 1
            for s in reversed(x["shape"]):
                strides.insert(0, step)
                step *= max(s, 1)
        if EXACT and not expected and flat.dtype.is_floating_point:
            flat = flat.double()
        return torch.as_strided(flat, x["shape"], strides, x.get("offset", 0)).requires_grad_(x.get("grad", False))

    def value(self, x, seen):
        """A written value; the tensors that it holds are appended to `seen`."""
        if isinstance(x, list):
            return [self.value(y, seen) for y in x]
        if not isinstance(x, dict):
            return x
        if "t" in x and "shape" in x:
            seen.append(self.tensor(x))
            return seen[-1]
        if list(x) == ["float"]:
            return float(x["float"])
        if list(x) == ["dtype"]:
            return torch.float64 if EXACT and DTYPE[x["dtype"]].is_floating_point else DTYPE[x["dtype"]]
        if list(x) == ["slice"]:
            return slice(*[self.value(y, seen) for y in x["slice"]])
        if list(x) == ["ellipsis"]:
            return ...
        if list(x) == ["memory_format"]:
            return getattr(torch, x["memory_format"])
        return {k: self.value(v, seen) for k, v in x.items()}


# comparing

def same(what, got, want, rtol, atol):
    if not EXACT and got.dtype != want.dtype:
        raise Wrong(f"{what}: dtype {got.dtype}, not {want.dtype}")
    if list(got.shape) != list(want.shape):
        raise Wrong(f"{what}: shape {list(got.shape)}, not {list(want.shape)}")
    got, want = got.detach().to(want.dtype), want.detach()
    if want.dtype.is_floating_point:
        g, w = got.double(), want.double()
        fits = (g == w) | (g.isnan() & w.isnan()) | ((g - w).abs() <= atol + rtol * w.abs())
    else:
        fits = got == want
    if not bool(fits.all()):
        worst = (got.double() - want.double()).abs().max()
        raise Wrong(f"{what}: {int((~fits).sum())} of {fits.numel()} elements differ, by up to {float(worst):.3g}")


def compare(folder, case, outs, inputs):
    want = case["outputs"]
    if len(outs) != len(want):
        raise Wrong(f"{len(outs)} results, not {len(want)}")
    relation = case.get("relation")
    if relation:
        return factors(folder, case, relation, outs, inputs[0])
    for i, (got, w) in enumerate(zip(outs, want)):
        check = case.get("checks", {}).get(str(i), {"check": "close"})
        if not (isinstance(w, dict) and "t" in w):
            if isinstance(w, dict) and "float" in w:
                w = float(w["float"])
            if isinstance(w, float):
                same("value", torch.tensor(got, dtype=torch.float64), torch.tensor(w, dtype=torch.float64), case["rtol"], case["atol"])
            elif got != w:
                raise Wrong(f"result {i} is {got}, not {w}")
            continue
        if check["check"] == "shape":
            if list(got.shape) != w["shape"] or not EXACT and got.dtype != DTYPE[w["t"][0]]:
                raise Wrong(f"result {i}: dtype or shape")
            continue
        w = folder.tensor(w, expected=True)
        if check["check"] == "picks":
            picks(i, got, w, check, inputs[0])
            continue
        same(f"result {i}", got, w, case["rtol"], case["atol"])
        if check["check"] == "view":
            t = inputs[check["of"]]
            if got.untyped_storage().data_ptr() != t.untyped_storage().data_ptr():
                raise Wrong(f"result {i} is no view")
            if list(got.stride()) != check["strides"] or got.storage_offset() - t.storage_offset() != check["offset"]:
                raise Wrong(f"result {i}: another layout")


def picks(i, got, want, check, x):
    if got.dtype != want.dtype or got.shape != want.shape:
        raise Wrong(f"result {i}: dtype or shape")
    x, dim = x.detach(), check["dim"]
    if x.dim() == 0:
        x, got, want, dim = x.reshape(1), got.reshape(1), want.reshape(1), 0
    if got.dim() < x.dim():
        got, want = got.unsqueeze(dim), want.unsqueeze(dim)
    if bool(((got < 0) | (got >= x.shape[dim])).any()):
        raise Wrong(f"result {i}: an index out of range")
    a, b = x.gather(dim, got), x.gather(dim, want)
    if not bool(((a == b) | (a != a) & (b != b)).all()):
        raise Wrong(f"result {i}: picks other elements")
    if check["distinct"]:
        s = got.sort(dim).values
        n = s.shape[dim]
        if n > 1 and bool((s.narrow(dim, 1, n - 1) == s.narrow(dim, 0, n - 1)).any()):
            raise Wrong(f"result {i}: picks an element twice")


def factors(folder, case, relation, outs, x):
    """Factorizations are unique up to signs or rotations only: shapes are compared, what is unique, and that the factors give x."""
    want = [folder.tensor(w, expected=True) for w in case["outputs"]]
    for i, (g, w) in enumerate(zip(outs, want)):
        if list(g.shape) != list(w.shape) or not EXACT and g.dtype != w.dtype:
            raise Wrong(f"result {i}: dtype or shape")
    x = x.detach()
    outs = [o.detach() for o in outs]
    size = (1 + float(x.abs().max())) if x.numel() else 1
    rtol, atol = case["rtol"], 20 * case["atol"] * size
    eye = lambda q: torch.eye(q.shape[-1], dtype=q.dtype).expand(*q.shape[:-2], q.shape[-1], q.shape[-1])
    def orthonormal(q):
        same("orthonormal factor", q.mT @ q, eye(q), rtol, atol)
    if relation == "qr":
        q, r = outs
        if q.numel():
            orthonormal(q)
            same("product", q @ r, x, rtol, atol)
        same("triangle", r.abs(), want[1].to(r.dtype).abs(), rtol, atol)
    elif relation == "svd":
        u, s, vh = outs
        same("singular values", s, want[1], rtol, atol)
        k = s.shape[-1]
        orthonormal(u), orthonormal(vh.mT)
        same("product", (u[..., :, :k] * s.unsqueeze(-2)) @ vh[..., :k, :], x, rtol, atol)
    else:
        values, v = outs
        lower = case["kwargs"].get("UPLO", "L") == "L"
        full = x.tril() + x.tril(-1).mT if lower else x.triu() + x.triu(1).mT
        same("eigenvalues", values, want[0], rtol, atol)
        orthonormal(v)
        same("product", (v * values.unsqueeze(-2)) @ v.mT, full, rtol, atol)


def compare_grads(folder, case, got, written, what):
    for i, (g, w) in enumerate(zip(got, written)):
        if w is None:
            if g is not None and bool((g != 0).any()):
                raise Wrong(f"{what} {i}: one is given where there is none")
            continue
        w = folder.tensor(w, expected=True)
        same(f"{what} {i}", torch.zeros_like(w) if g is None else g, w, case["grad_rtol"], case["grad_atol"])


# running
