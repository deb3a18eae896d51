"""The most memory that a step of training adds to what is there before it, as torch.profiler's memory events have it.

    python memory.py > memory.json

The networks are those of curves.py, larger; a step runs forward, backward and SGD with momentum, and begins without gradients, whose
release the profiler would not see. Memory that oneDNN takes for itself is in no event.
"""

import json

import torch
from torch import nn, optim
from torch.profiler import ProfilerActivity, profile

from curves import CNN, CharacterTransformer


def peak(model, inputs, targets):
    optimizer = optim.SGD(model.parameters(), 0.01, momentum=0.9)

    def step():
        nn.functional.cross_entropy(model(inputs).flatten(0, -2), targets.flatten()).backward()
        optimizer.step()

    for _ in range(2):
        step()
        optimizer.zero_grad()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    texts = torch.randint(64, (2, 16, 64))
    peaks = {
        "cnn": peak(CNN(3, 32, 64, 10), torch.randn(32, 3, 32, 32), torch.randint(10, (32,))),
        "transformer": peak(CharacterTransformer(64, 64, 64, 4, 256), *texts),
    }
    print(json.dumps({"torch": torch.__version__, "peaks": peaks}, indent=1))


if __name__ == "__main__":
    main()
