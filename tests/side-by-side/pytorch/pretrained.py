from safetensors.torch import load_file
from torch import nn

model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
model.load_state_dict(load_file("model.safetensors"))
print(model(load_file("input.safetensors")["x"]).argmax(-1))
