"""Losses of four small networks over 50 steps with each optimizer, as PyTorch has them in f32 and in f64.

    python curves.py

writes `curves/NAME.safetensors` for each network: its first weights (`state.*`), its batches (`inputs`, `targets`), and the losses with
each optimizer (`f32.*`, `f64.*`), that of a step before its change. Both curves begin at the same numbers, which are f32's. For
the pairs of DECIDED_BY_A_ROUNDING, `orders.*` are the distances of more runs in f32 from the one in f64, with the samples of each
batch in other orders.
"""

from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn, optim

STEPS = 50
BATCHES = 10
ORDERS = 16
VOCABULARY = 12
POSITIONS = 10


class CNN(nn.Module):
    def __init__(self, colours=2, first=6, second=8, classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(colours, first, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(first)
        self.conv2 = nn.Conv2d(first, second, 3)
        self.norm2 = nn.BatchNorm2d(second)
        self.head = nn.Linear(second, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.norm1(self.conv1(x)).relu(), 2)
        x = nn.functional.adaptive_avg_pool2d(self.norm2(self.conv2(x)).relu(), 1)
        return self.head(x.flatten(1))


class CharacterLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.characters = nn.Embedding(VOCABULARY, 8)
        self.lstm = nn.LSTM(8, 16, 2, batch_first=True)
        self.head = nn.Linear(16, VOCABULARY)

    def forward(self, text):
        return self.head(self.lstm(self.characters(text))[0])


class CharacterTransformer(nn.Module):
    def __init__(self, vocabulary=VOCABULARY, positions=POSITIONS, width=16, heads=2, hidden=32):
        super().__init__()
        self.characters = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)
        layer = nn.TransformerEncoderLayer(width, heads, hidden, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(positions), persistent=False)

    def forward(self, text):
        x = self.characters(text) + self.places(torch.arange(text.shape[1]))
        return self.head(self.layers(x, mask=self.mask, is_causal=True))


NETWORKS = {
    "mlp": lambda: nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 8)),
    "cnn": CNN,
    "lstm": CharacterLSTM,
    "transformer": CharacterTransformer,
}

# Networks and optimizers whose f32 is once near f64 and once far, as one rounding falls: Muon rounds to bf16.
DECIDED_BY_A_ROUNDING = [("cnn", "Muon")]

# The penalty of LBFGS's loss: the factor of the squares of all parameters.
PENALTY = 1e-3

# By the names of the test.
OPTIMIZERS = {
    "SGD": lambda p: optim.SGD(p, 0.1),
    "SGD momentum": lambda p: optim.SGD(p, 0.05, momentum=0.9, weight_decay=1e-3),
    "SGD nesterov": lambda p: optim.SGD(p, 0.05, momentum=0.9, nesterov=True),
    "Adam": lambda p: optim.Adam(p, 3e-3),
    "Adam amsgrad": lambda p: optim.Adam(p, 3e-3, weight_decay=1e-3, amsgrad=True),
    "AdamW": lambda p: optim.AdamW(p, 3e-3),
    "RMSprop": lambda p: optim.RMSprop(p, 1e-3),
    "RMSprop momentum": lambda p: optim.RMSprop(p, 3e-4, momentum=0.9, centered=True),
    "Adagrad": lambda p: optim.Adagrad(p, 0.01),
    "Adadelta": lambda p: optim.Adadelta(p, 1.0),
    "Adamax": lambda p: optim.Adamax(p, 3e-3),
    "NAdam": lambda p: optim.NAdam(p, 3e-3),
    "RAdam": lambda p: optim.RAdam(p, 3e-3),
    "ASGD": lambda p: optim.ASGD(p, 0.1, t0=10),
    "Rprop": lambda p: optim.Rprop(p, 1e-3),
    "Adafactor": lambda p: optim.Adafactor(p, 0.01),
    "Muon": lambda p: optim.Muon([one for one in p if one.dim() == 2], 3e-3),
    "LBFGS": lambda p: optim.LBFGS(p, 0.2, max_iter=1, history_size=10),
    "LBFGS strong_wolfe": lambda p: optim.LBFGS(p, max_iter=2, history_size=10, line_search_fn="strong_wolfe"),
}


def labels(inputs, classes):
    """Classes that a linear function of the inputs has, with noise, so that no network gets to the bottom of them."""
    scores = inputs.flatten(2) @ torch.randn(inputs[0, 0].numel(), classes)
    return (scores + scores.std() * 0.5 * torch.randn_like(scores)).argmax(-1)


def texts(batch):
    """Random walks over the characters, each of which has likely followers."""
    followers = (2.0 * torch.randn(VOCABULARY, VOCABULARY)).softmax(-1)
    walk = [torch.randint(VOCABULARY, (BATCHES * batch,))]
    for _ in range(POSITIONS):
        walk.append(torch.multinomial(followers[walk[-1]], 1).squeeze(1))
    text = torch.stack(walk, 1).reshape(BATCHES, batch, POSITIONS + 1)
    return text[..., :-1].contiguous(), text[..., 1:].contiguous()


def batches(network):
    if network == "mlp":
        inputs = torch.randn(BATCHES, 32, 16)
        return inputs, labels(inputs, 8)
    if network == "cnn":
        inputs = torch.randn(BATCHES, 32, 2, 8, 8)
        return inputs, labels(inputs, 5)
    return texts(8)


def train(network, state, inputs, targets, optimizer, dtype):
    model = NETWORKS[network]()
    model.load_state_dict(state)
    model.to(dtype)
    if inputs.is_floating_point():
        inputs = inputs.to(dtype)
    optimizer = OPTIMIZERS[optimizer](list(model.parameters()))
    # LBFGS compares the gradients of its steps, which have to be of one function: that of all batches. The penalty keeps it from
    # going down to where nothing but roundings is left to compare.
    is_lbfgs = isinstance(optimizer, optim.LBFGS)

    def loss_of(inputs, targets):
        model.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        if is_lbfgs:
            loss = loss + PENALTY * sum(one.square().sum() for one in model.parameters())
        loss.backward()
        return loss

    losses = []
    for step in range(STEPS):
        batch = slice(None) if is_lbfgs else slice(step % BATCHES, step % BATCHES + 1)
        closure = partial(loss_of, inputs[batch].flatten(0, 1), targets[batch].flatten())
        losses.append(optimizer.step(closure).item())
    return torch.tensor(losses, dtype=torch.float64)


def distance(curve, exact):
    """The largest distance of a loss from the exact one, as a share of that."""
    return ((curve - exact).abs() / exact.abs()).max()


def in_order(number, inputs, targets):
    """The same batches, the samples of each in another order."""
    generator = torch.Generator().manual_seed(number)
    orders = [torch.randperm(inputs.shape[1], generator=generator) for _ in range(BATCHES)]
    return [torch.stack([batch[order] for batch, order in zip(whole, orders)]) for whole in (inputs, targets)]


def main():
    torch.set_num_threads(1)
    for number, network in enumerate(NETWORKS):
        torch.manual_seed(number)
        state = {name: value.clone() for name, value in NETWORKS[network]().state_dict().items()}
        inputs, targets = batches(network)
        tensors = {f"state.{name}": value for name, value in state.items()}
        tensors |= {"inputs": inputs, "targets": targets}
        for optimizer in OPTIMIZERS:
            single, exact = [train(network, state, inputs, targets, optimizer, dtype) for dtype in (torch.float32, torch.float64)]
            tensors |= {f"f32.{optimizer}": single, f"f64.{optimizer}": exact}
            print(f"{network:12} {optimizer:20} {exact[0]:.3f} to {exact[-1]:.3f}, f32 is {distance(single, exact):.1e} away")
            if (network, optimizer) in DECIDED_BY_A_ROUNDING:
                runs = [train(network, state, *in_order(order, inputs, targets), optimizer, torch.float32) for order in range(ORDERS)]
                tensors[f"orders.{optimizer}"] = torch.stack([distance(curve, exact) for curve in runs])
                print(f"{'':33}in other orders {tensors[f'orders.{optimizer}']}")
        save_file(tensors, Path(__file__).parent / "curves" / f"{network}.safetensors", {"torch": torch.__version__})


if __name__ == "__main__":
    main()
