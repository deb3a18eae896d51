"""Trains a small network in PyTorch and writes what the example reads.

    python3 train.py

`model.pt`: the state of the network, as `torch.save(model.state_dict(), ..)` writes it.
`expected.safetensors`: a batch of inputs, and what the network makes of it in evaluation mode.

The files here were written with torch 2.15.0 and safetensors 0.8.0.
"""

import pathlib

import torch
from safetensors.torch import save_file
from torch import nn

TOKENS, WIDTH, CLASSES = 20, 16, 3


class Tagger(nn.Module):
    """Gives each token of a sequence a class."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.neighbours = nn.Sequential(
            nn.Conv1d(WIDTH, WIDTH, 3, padding=1, bias=False), nn.BatchNorm1d(WIDTH), nn.GELU()
        )
        self.memory = nn.GRU(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)
        self.attention = nn.TransformerEncoderLayer(
            WIDTH, 2, dim_feedforward=32, norm_first=True, batch_first=True
        )
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, text):
        x = self.tokens(text)
        x = self.neighbours(x.transpose(1, 2)).transpose(1, 2)
        x, _ = self.memory(x)
        return self.head(self.attention(x))


def main():
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(60):
        # Whether a token is larger than the one before, equal, or smaller.
        text = torch.randint(0, TOKENS, (32, 12))
        classes = 1 + torch.sign(text - text.roll(1, 1))
        loss = nn.functional.cross_entropy(model(text).transpose(1, 2), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    text = torch.randint(0, TOKENS, (4, 12))
    with torch.no_grad():
        scores = model(text)
    folder = pathlib.Path(__file__).parent
    torch.save(model.state_dict(), folder / "model.pt")
    save_file({"text": text, "scores": scores}, folder / "expected.safetensors")
    print(f"loss {loss.item():.3f}")


main()
