"""Cases of kind `program`: random graphs of recorded operations with views, in-place steps, no_grad regions, and derivatives of both orders."""
import random
import torch
import tolerance
from protocol import DTYPES, SHORT, Unsupported, same_layout

UNARY = "neg exp sin cos tanh sigmoid relu abs square sqrt log1p softplus erf reciprocal".split()
BINARY = "add sub mul div maximum minimum pow2 where lerp addcmul".split()
REDUCE = "sum mean amax logsumexp prod var softmax cumsum norm".split()
VIEW = "reshape transpose permute unsqueeze squeeze expand narrow select slice flatten diagonal detach clone contiguous".split()
INDEX = "index_select gather getitem scatter_add index_add masked_fill cat stack take_along_dim".split()
IN_PLACE = "add_ mul_ exp_ tanh_ zero_ copy_ clamp_ sub_".split()
LIMIT = 1e3  # a program whose values grow beyond this is drawn again


def function(name):
    """The callable of a step, by PyTorch's name."""
    if name == "__getitem__":
        return lambda x, i: x[tuple(i)]
    if name == "softplus":
        return torch.nn.functional.softplus
    if name.endswith("_") or name in ("expand", "contiguous", "reshape"):
        return lambda x, *a, **k: getattr(x, name)(*a, **k)
    return getattr(torch, name)


class Failed(Exception):
    def __init__(self, at, error):
        self.at, self.error = at, error


class Program:
    """Leaves and steps; a value is named by its number: the leaves first, then the result of each step."""

    def __init__(self, given, steps):
        self.given, self.steps = given, steps

    def run(self, cast=None):
        """all values"""
        conv = lambda t: same_layout(t) if cast is None or not t.dtype.is_floating_point else t.detach().to(cast).requires_grad_(t.requires_grad)
        values = [conv(t) for t in self.given]
        for n, step in enumerate(self.steps):
            values.append(self.step(n, step, values))
        return values

    def saved_bytes(self):
        """Bytes kept for backward. A run of its own, because PyTorch checks no versions while saved_tensors_hooks are set."""
        kept = {}
        def pack(t):
            kept.setdefault(t.untyped_storage().data_ptr(), t)
            return t.detach()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            values = self.run()
        mine = {t.untyped_storage().data_ptr() for t in values[:len(self.given)]}
        return sum(t.untyped_storage().nbytes() for p, t in kept.items() if p and p not in mine)

    def step(self, n, step, values):
        look = lambda x: values[x["v"]] if isinstance(x, dict) and "v" in x else [look(y) for y in x] if isinstance(x, list) else x
        args = [look(x) for x in step["args"]]
        try:
            with torch.set_grad_enabled(not step.get("no_grad", False)):
                return function(step["op"])(*args, **step.get("kwargs", {}))
        except (RuntimeError, IndexError) as e:
            raise Failed(n, type(e).__name__) from e


class Draw:
    """Draws one program step by step, running each step to know the shapes."""

    def __init__(self, rng, dtype, style):
        self.rng, self.style = rng, style
        g = torch.Generator().manual_seed(rng.randrange(2**31))
        self.dims = [rng.choice([1, 2, 3, 4]) for _ in range(3)]
        self.given = []
        for i in range(rng.randint(2, 4)):
            shape = [rng.choice(self.dims) for _ in range(rng.randint(1, 3))]
            t = torch.randn(shape, generator=g, dtype=torch.float64).to(dtype)
            if rng.random() < 0.25 and len(shape) > 1:
                t = t.transpose(0, 1).contiguous().transpose(0, 1)
            self.given.append(t.requires_grad_(i == 0 or rng.random() < 0.7))
        self.g, self.steps, self.failed = g, [], None
        self.values = [same_layout(t) for t in self.given]

    def constant(self, t):
        """Adds a tensor to the leaves; only possible before the first step, so programs draw their index tensors in advance."""
        self.given.append(t)
        self.values.append(t)
        return len(self.given) - 1

    def program(self, length):
        n = self.rng.randint
        self.indices = [self.constant(torch.randint(0, 2, (n(1, 3),), generator=self.g)) for _ in range(2)]
        self.mask = self.constant(torch.randint(0, 2, (2, 1), generator=self.g).bool())
        self.floats = [i for i, t in enumerate(self.values) if t.dtype.is_floating_point]
        tries = 0
        while len(self.steps) < length and tries < 200 and self.failed is None:
            tries += 1
            step = self.draw()
            if step is None:
                continue
            program = Program(self.given, self.steps + [step])
            try:
                trial = program.run()
            except Failed as f:
                if step["op"].endswith("_") and f.at == len(self.steps) and self.style == "error" and len(self.steps) >= 4:
                    self.steps.append(step)
                    self.failed = f
                continue
            out = trial[-1]
            floats = [t.detach() for t in trial if t.dtype.is_floating_point]
            if out.numel() == 0 or out.numel() > 400 or any(not bool(t.isfinite().all()) or float(t.abs().max()) > LIMIT for t in floats):
                continue
            self.steps.append(step)
            self.values = trial
            self.floats.append(len(trial) - 1)
        return Program(self.given, self.steps)

    def pick(self):
        return self.rng.choice(self.floats[-4:] if self.rng.random() < 0.7 else self.floats)

    def draw(self):
        rng = self.rng
        weights = dict(unary=3, binary=5, reduce=3, matmul=3, view=4, index=3, in_place={"plain": 0, "nograd": 1}.get(self.style, 4))
        family = rng.choices(list(weights), list(weights.values()))[0]
        step = getattr(self, family)(self.pick())
        if step is not None and self.style == "nograd" and rng.random() < 0.3:
            step["no_grad"] = True
        return step

    def unary(self, x):
        return dict(op=self.rng.choice(UNARY), args=[{"v": x}])

    def binary(self, x):
        op, y, z = self.rng.choice(BINARY), self.pick(), self.pick()
        v = lambda i: {"v": i}
        if op == "pow2":
            return dict(op="pow", args=[v(x), self.rng.choice([2, 3, 0.5, -1])])
        if op == "where":
            return dict(op="where", args=[v(self.mask), v(x), v(y)])
        if op == "lerp":
            return dict(op="lerp", args=[v(x), v(y), self.rng.choice([0.25, 0.75])])
        if op == "addcmul":
            return dict(op="addcmul", args=[v(x), v(y), v(z)], kwargs={"value": self.rng.choice([0.5, 2, -1.5])})
        if op in ("add", "sub") and self.rng.random() < 0.4:
            return dict(op=op, args=[v(x), v(y)], kwargs={"alpha": self.rng.choice([2, -1, 0.5])})
        if self.rng.random() < 0.15 and op in ("add", "sub", "mul", "div"):
            return dict(op=op, args=[v(x), self.rng.choice([2, 0.5, -1.5])])
        return dict(op=op, args=[v(x), v(y)])

    def dim(self, x):
        rank = self.values[x].dim()
        return None if rank == 0 else self.rng.randrange(-rank, rank)

    def reduce(self, x):
        op, dim, keep = self.rng.choice(REDUCE), self.dim(x), self.rng.random() < 0.5
        if dim is None:
            return None
        if op in ("softmax", "cumsum"):
            return dict(op=op, args=[{"v": x}, dim])
        if op == "norm":
            return dict(op="norm", args=[{"v": x}, 2, dim, keep])
        if op == "var":
            return None if self.values[x].shape[dim] < 2 else dict(op=op, args=[{"v": x}, dim], kwargs={"keepdim": keep, "correction": self.rng.choice([0, 1])})
        if op in ("sum", "mean") and self.rng.random() < 0.25:
            return dict(op=op, args=[{"v": x}])
        return dict(op=op, args=[{"v": x}, dim], kwargs={"keepdim": keep})

    def matmul(self, x):
        fits = [y for y in self.floats if self.values[y].dim() and self.values[x].dim()
                and self.values[x].shape[-1] == self.values[y].shape[-2 if self.values[y].dim() > 1 else 0]]
        return dict(op="matmul", args=[{"v": x}, {"v": self.rng.choice(fits)}]) if fits else None

    def view(self, x):
        rng, t, v = self.rng, self.values[x], {"v": x}
        op, dim = rng.choice(VIEW), self.dim(x)
        if op in ("flatten", "detach", "clone", "contiguous"):
            return dict(op=op, args=[v])
        if op == "unsqueeze":
            return dict(op=op, args=[v, rng.randint(0, t.dim())])
        if dim is None:
            return None
        size = t.shape[dim]
        if op == "reshape":
            return dict(op=op, args=[v, rng.choice([[-1], [t.numel() // size, size], [1, -1], [size, -1]])])
        if op == "transpose":
            return dict(op=op, args=[v, dim, self.dim(x)])
        if op == "permute":
            return dict(op=op, args=[v, rng.sample(range(t.dim()), t.dim())])
        if op == "squeeze":
            return dict(op=op, args=[v, dim])
        if op == "expand":
            return dict(op=op, args=[v, [rng.choice([2, 3])] + [-1 if n != 1 else rng.choice([1, 2]) for n in t.shape]])
        if op == "narrow":
            begin = rng.randrange(size)
            return dict(op=op, args=[v, dim, begin, rng.randint(1, size - begin)])
        if op == "select":
            return dict(op=op, args=[v, dim, rng.randrange(-size, size)])
        if op == "slice":
            return dict(op="__getitem__", args=[v, [slice(rng.choice([None, 0, -1]), None, rng.choice([None, 1, 2]))]])
        return dict(op=op, args=[v]) if t.dim() >= 2 else None

    def index(self, x):
        rng, t, v, i = self.rng, self.values[x], {"v": x}, {"v": self.rng.choice(self.indices)}
        op, dim = rng.choice(INDEX), self.dim(x)
        if dim is None or t.shape[dim] < 2:
            return None
        if op == "index_select":
            return dict(op=op, args=[v, dim, i])
        if op == "getitem":
            return dict(op="__getitem__", args=[v, [i] if t.shape[0] >= 2 else [None, slice(None)]])
        if op in ("gather", "take_along_dim"):
            return dict(op=op, args=[v, i if op == "gather" else i, dim][:1] + ([dim, i] if op == "gather" else [i, dim])) if t.dim() == 1 else None
        if op in ("scatter_add", "index_add"):
            same = [y for y in self.floats if self.values[y].shape[:1] == self.values[i["v"]].shape and self.values[y].dim() == t.dim() == 1]
            return dict(op=op, args=[v, 0, i, {"v": rng.choice(same)}]) if same else None
        if op == "masked_fill":
            return dict(op=op, args=[v, {"v": self.mask}, rng.choice([0.5, -1])])
        same = [y for y in self.floats if self.values[y].shape == t.shape]
        chosen = [v] + [{"v": rng.choice(same)} for _ in range(rng.randint(1, 2))]
        return dict(op=op, args=[chosen, dim])

    def in_place(self, x):
        rng, v = self.rng, {"v": x}
        if self.values[x].is_leaf and self.values[x].requires_grad and self.style != "error":
            return None
        op = rng.choice(IN_PLACE)
        if op in ("add_", "mul_", "sub_", "copy_"):
            other = {"v": self.pick()} if op == "copy_" or rng.random() < 0.6 else rng.choice([2, 0.5, -1])
            return dict(op=op, args=[v, other])
        return dict(op=op, args=[v], kwargs={"min": -0.5, "max": 0.5}) if op == "clamp_" else dict(op=op, args=[v])


class Programs:
    def __init__(self, exam, seed, cap, dtypes, only, largest=None):
        self.exam, self.seed, self.count = exam, seed, 100 * cap
        self.dtypes = [DTYPES[d] for d in dtypes if d in ("f32", "f64")]

    def export(self):
        for n in range(self.count):
            rng = random.Random(f"{self.seed} program {n}")
            style = rng.choice(["plain", "plain", "in_place", "in_place", "nograd", "error"])
            dtype = rng.choice(self.dtypes)
            draw = Draw(rng, dtype, style)
            program = draw.program(rng.randint(5, 15))
            try:
                self.case(rng, program, draw.failed, style, dtype)
            except Unsupported as e:
                self.exam.skip("program", str(e))

    def case(self, rng, program, failed, style, dtype):
        case = dict(kind="program", op="dag", variant=style, dtype=SHORT[dtype], leaves=[self.exam.value(t) for t in program.given],
                    steps=[{**s, "args": [self.written(a) for a in s["args"]]} for s in program.steps])
        if failed is not None:
            return self.exam.add({**case, "error": failed.error, "error_at": failed.at})
        first, count = len(program.given), len(program.given) + len(program.steps)
        chosen = sorted({count - 1, *(rng.randrange(first, count) for _ in range(2))})
        g = torch.Generator().manual_seed(rng.randrange(2**31))
        run = lambda cast, cots, weights: self.derive(program, chosen, g, cast, cots, weights)
        try:
            outs, flags, cots, grads, weights, seconds = run(None, None, None)
        except RuntimeError as e:
            cots = self.cotangents(program, chosen, g)
            return self.exam.add({**case, "results": chosen, "cotangents": [self.exam.value(c) for c in cots], "error": type(e).__name__, "error_at": "backward"})
        limits = (tolerance.DEFAULT[dtype],) * 2
        if dtype != torch.float64:
            try:
                eouts, _, _, egrads, _, eseconds = run(torch.float64, cots, weights)
            except Failed:  # a copy in one dtype is a view in another, on which autograd's rules differ
                return self.exam.skip("program", "does not run in f64")
            pairs = [(x, y) for x, y in zip(grads or [], egrads or [])] + [(x, y) for x, y in zip(seconds or [], eseconds or [])]
            limits = tolerance.widened(outs, eouts, *limits[0]), tolerance.widened([x for x, _ in pairs], [y for _, y in pairs], *limits[1])
            if None in limits:
                return self.exam.skip("program", f"ill-conditioned in {SHORT[dtype]}: an exact recomputation differs")
        everything = [*outs, *[x for x in [*(grads or []), *(seconds or [])] if x is not None]]
        if any(not bool(t.isfinite().all()) for t in outs):
            return self.exam.skip("program", "a result is not finite")
        if any(not bool(t.isfinite().all()) or float(t.abs().max()) > 1e6 for t in everything if t.numel()):
            grads = seconds = None
        case.update(results=chosen, requires_grad=flags, outputs=[self.exam.value(o) for o in outs], rtol=limits[0][0], atol=limits[0][1], saved_bytes=program.saved_bytes())
        put = lambda xs: [None if x is None else self.exam.value(x.contiguous()) for x in xs]
        if grads is not None:
            case.update(cotangents=put(cots), grads=put(grads), grad_rtol=limits[1][0], grad_atol=limits[1][1])
        if grads is not None and seconds is not None:
            case.update(weights=put(weights), grads2=put(seconds))
        self.exam.add(case)

    def written(self, x):
        if isinstance(x, dict) and "v" in x:
            return x
        return [self.written(y) for y in x] if isinstance(x, list) else self.exam.value(x)

    def cotangents(self, program, chosen, g):
        values = program.run()
        return [torch.randn(values[i].shape, generator=g, dtype=torch.float64).to(values[i].dtype) if values[i].requires_grad else None for i in chosen]

    def derive(self, program, chosen, g, cast, cots, weights):
        """results, their requires_grad, cotangents, gradients of the leaves, weights, second derivatives"""
        values = program.run(cast)
        outs = [values[i] for i in chosen]
        flags = [o.requires_grad for o in outs]
        random_like = lambda t: torch.randn(t.shape, generator=g, dtype=torch.float64).to(t.dtype)
        to = lambda x: None if x is None else x.to(cast)
        cots = [random_like(o) if o.requires_grad else None for o in outs] if cots is None else [to(c) for c in cots]
        pairs = [(o, c) for o, c in zip(outs, cots) if c is not None]
        wrt = [t for t in values[:len(program.given)] if t.requires_grad]
        grads = seconds = None
        if pairs:
            grads = torch.autograd.grad([o for o, _ in pairs], wrt, [c for _, c in pairs], create_graph=True, allow_unused=True)
            if weights is None:
                weights = [random_like(x) if x is not None and x.requires_grad else None for x in grads]
            else:
                weights = [to(w) for w in weights]
            again = [(x, w) for x, w in zip(grads, weights) if x is not None and w is not None]
            try:
                seconds = torch.autograd.grad([x for x, _ in again], wrt, [w for _, w in again], allow_unused=True) if again else None
                seconds = seconds and [None if s is None else s.detach() for s in seconds]
            except RuntimeError:  # only errors of the first backward are asked for
                seconds = None
            grads = [None if x is None else x.detach() for x in grads]
        return [o.detach() for o in outs], flags, cots, grads, weights, seconds
