"""The softmax of many classes, as PyTorch has it.

    python adaptive.py > adaptive.json
"""

import json

import torch
from torch import nn

torch.manual_seed(0)


def numbers(tensor):
    return {"shape": list(tensor.shape), "data": [round(x, 7) for x in tensor.flatten().tolist()]}


layer = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0, head_bias=True)
x = torch.randn(6, 8, requires_grad=True)
target = torch.tensor([0, 11, 2, 4, 6, 3])
output, loss = layer(x, target)
(loss + output.square().sum()).backward()
print(json.dumps({
    "torch": torch.__version__.split("+")[0],
    "weights": {name: numbers(value) for name, value in layer.state_dict().items()},
    "input": numbers(x),
    "target": target.tolist(),
    "output": numbers(output),
    "loss": loss.item(),
    "log_prob": numbers(layer.log_prob(x)),
    "predictions": layer.predict(x).tolist(),
    "input_gradient": numbers(x.grad),
    "gradients": {name: numbers(p.grad) for name, p in layer.named_parameters()},
}))
