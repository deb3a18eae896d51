import torch
from torch import nn
from torch.nn.functional import cross_entropy

CONTEXT, WIDTH = 32, 64


class Block(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        b, t, d = x.shape
        qkv = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        later = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        mixed = (weights @ v).transpose(1, 2).reshape(b, t, d)
        x = x + self.out(mixed)
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.characters = nn.Embedding(vocabulary, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block(4) for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary)

    def forward(self, text):
        x = self.characters(text) + self.places(torch.arange(text.shape[1], device=text.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


text = torch.randint(0, 30, (1000,))
model = Transformer(30)
optimizer = torch.optim.Adam(model.parameters(), 3e-3)
for step in range(10):
    starts = torch.randint(0, len(text) - CONTEXT - 1, (16, 1))
    windows = text[starts + torch.arange(CONTEXT + 1)]
    scores = model(windows[:, :-1])
    loss = cross_entropy(scores.reshape(-1, 30), windows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
written = text[:CONTEXT]
with torch.no_grad():
    for _ in range(20):
        next = model(written[None, -CONTEXT:])[0, -1].argmax(-1, keepdim=True)
        written = torch.cat([written, next])
print(written)
