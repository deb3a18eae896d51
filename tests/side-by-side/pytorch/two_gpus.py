import torch
from torch import nn

model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)).to("cuda:0")
model = nn.DataParallel(model, [0, 1])
x = torch.randn(256, 784, device="cuda:0")
y = torch.randint(0, 10, (256,), device="cuda:0")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(10):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
