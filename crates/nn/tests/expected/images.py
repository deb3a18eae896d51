"""Printed forms of layers for images and of some others, and what some of them make of an image, as PyTorch
has them.

    python images.py > images.json
"""

import json

import torch
from torch import nn

AXES = (1, 2, 3)
LAYERS = [
    nn.MaxPool1d(3), nn.MaxPool2d((3, 2), stride=2, padding=(1, 0)), nn.MaxPool3d(2, dilation=2, ceil_mode=True),
    nn.AvgPool1d(3), nn.AvgPool2d((3, 2), stride=2), nn.AvgPool3d(2, padding=1),
    *(getattr(nn, f"AdaptiveMaxPool{n}d")(5) for n in AXES),
    nn.AdaptiveAvgPool1d(5), nn.AdaptiveAvgPool2d((5, None)), nn.AdaptiveAvgPool3d((5, 3, 2)),
    nn.MaxUnpool1d(3), nn.MaxUnpool2d(3, stride=2), nn.MaxUnpool3d((3, 2, 1), padding=(1, 0, 0)),
    *(getattr(nn, f"ZeroPad{n}d")(1) for n in AXES),
    *(getattr(nn, f"ConstantPad{n}d")(2, 3.5) for n in AXES),
    nn.ReflectionPad1d((1, 2)), nn.ReflectionPad2d((1, 2, 3, 4)), nn.ReflectionPad3d(1),
    *(getattr(nn, f"ReplicationPad{n}d")(1) for n in AXES),
    *(getattr(nn, f"CircularPad{n}d")(1) for n in AXES),
    nn.Upsample(scale_factor=2.0), nn.Upsample(size=(4, 6), mode="bilinear"), nn.Upsample(scale_factor=(2.0, 1.5)),
    nn.PixelShuffle(3), nn.PixelUnshuffle(3), nn.ChannelShuffle(2),
    nn.Unfold((2, 3), padding=1), nn.Fold((4, 5), 2, stride=(2, 1)), nn.LocalResponseNorm(2, k=2.0),
    nn.UpsamplingNearest2d(scale_factor=2.0), nn.UpsamplingBilinear2d(size=(4, 6)),
    nn.Unflatten(1, (2, 5)), nn.Unflatten(-1, (6,)), nn.RReLU(),
]

IMAGE = torch.arange(2 * 5 * 3 * 2.0).sin().reshape(2, 5, 3, 2)
OUTPUTS = {
    "nearest": nn.UpsamplingNearest2d(scale_factor=1.5),
    "bilinear": nn.UpsamplingBilinear2d(size=(5, 3)),
}

if __name__ == "__main__":
    print(json.dumps({
        "torch": torch.__version__.split("+")[0],
        "printed": [repr(layer) for layer in LAYERS],
        "image": IMAGE.flatten().tolist(),
        "outputs": {name: layer(IMAGE).flatten().tolist() for name, layer in OUTPUTS.items()},
    }, indent=1))
