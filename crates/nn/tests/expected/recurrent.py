"""Recurrent layers and cells: states, inputs, outputs and gradients, as PyTorch has them.

    python recurrent.py > recurrent.json
"""

import json

import torch
from torch import nn

torch.manual_seed(0)


def numbers(tensor):
    return {"shape": list(tensor.shape), "data": [round(x, 7) for x in tensor.flatten().tolist()]}


def case(module, shape, state_shapes):
    """One call, without a state or with one, and the gradients of the sum of the squared results."""
    x = torch.randn(shape, requires_grad=True)
    states = [torch.randn(s, requires_grad=True) for s in state_shapes]
    given = (tuple(states) if len(states) > 1 else states[0]) if states else None
    results = module(x, given)
    flat = []
    for result in results if isinstance(results, tuple) else [results]:
        flat += list(result) if isinstance(result, tuple) else [result]
    sum(result.square().sum() for result in flat).backward()
    return {
        "printed": repr(module),
        "weights": {name: numbers(value) for name, value in module.state_dict().items()},
        "input": numbers(x),
        "states": [numbers(state) for state in states],
        "results": [numbers(result) for result in flat],
        "input_gradient": numbers(x.grad),
        "gradients": {name: numbers(p.grad) for name, p in module.named_parameters()},
    }


def packed(module, lengths, state_shapes):
    """One call with sequences of these lengths, of elements of size 2."""
    sequences = [torch.randn(length, 2, requires_grad=True) for length in lengths]
    states = [torch.randn(s, requires_grad=True) for s in state_shapes]
    given = (tuple(states) if len(states) > 1 else states[0]) if states else None
    batch = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, state = module(batch, given)
    padded, found = nn.utils.rnn.pad_packed_sequence(output, batch_first=True, padding_value=-1.0)
    state = list(state) if isinstance(state, tuple) else [state]
    weighted = sum((n + 1) * row.square().sum() for n, row in enumerate(padded))
    (weighted + sum(part.square().sum() for part in state)).backward()
    return {
        "weights": {name: numbers(value) for name, value in module.state_dict().items()},
        "sequences": [numbers(sequence) for sequence in sequences],
        "states": [numbers(state) for state in states],
        "data": numbers(batch.data),
        "batch_sizes": batch.batch_sizes.tolist(),
        "lengths": found.tolist(),
        "results": [numbers(result) for result in [padded, *state]],
        "sequence_gradients": [numbers(sequence.grad) for sequence in sequences],
        "gradients": {name: numbers(p.grad) for name, p in module.named_parameters()},
    }


CASES = {
    "rnn": case(nn.RNN(2, 3), (3, 2, 2), []),
    "rnn_relu": case(nn.RNN(2, 3, nonlinearity="relu", bias=False, bidirectional=True), (2, 2), [(2, 3)]),
    "lstm": case(nn.LSTM(2, 3), (3, 2, 2), [(1, 2, 3), (1, 2, 3)]),
    "lstm_deep": case(nn.LSTM(2, 3, num_layers=2, bidirectional=True, batch_first=True), (2, 3, 2), []),
    "lstm_projected": case(nn.LSTM(2, 3, num_layers=2, proj_size=2), (3, 1, 2), [(2, 1, 2), (2, 1, 3)]),
    "gru": case(nn.GRU(2, 3), (3, 2, 2), []),
    "gru_deep": case(nn.GRU(2, 3, num_layers=2, bidirectional=True, bias=False), (3, 2, 2), [(4, 2, 3)]),
    "rnn_cell": case(nn.RNNCell(2, 3, nonlinearity="relu"), (2, 2), [(2, 3)]),
    "lstm_cell": case(nn.LSTMCell(2, 3), (2, 2), [(2, 3), (2, 3)]),
    "gru_cell": case(nn.GRUCell(2, 3, bias=False), (2,), []),
}

PACKED = {
    "rnn": packed(nn.RNN(2, 3), [3, 1, 3, 2], []),
    "lstm": packed(nn.LSTM(2, 3, num_layers=2, bidirectional=True), [2, 4, 1], [(4, 3, 3), (4, 3, 3)]),
    "lstm_projected": packed(nn.LSTM(2, 3, proj_size=2), [1, 3], []),
    "gru": packed(nn.GRU(2, 3, bidirectional=True), [4, 4, 2], [(2, 3, 3)]),
}

if __name__ == "__main__":
    print(json.dumps({"torch": torch.__version__.split("+")[0], "cases": CASES, "packed": PACKED}, indent=None))
