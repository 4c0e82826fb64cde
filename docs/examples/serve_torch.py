# SPDX-License-Identifier: Apache-2.0
"""A PyTorch model for salus-serve (docs/serving.md): rows of 64 numbers, each to one of 10 classes. Its weights are drawn
from a seed; a real one loads its own. It is compiled because the software GPU has no kernels of PyTorch's own, which are
machine code; on a GPU it may be."""
import torch

import salus_serve

torch.manual_seed(7)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
model = model.cuda().eval()
classify = torch.compile(lambda x: model(x).softmax(1), dynamic=True)

with torch.inference_mode():
    for rows in (1, 2):                             # compiles before the first request
        classify(torch.zeros(rows, 64, device="cuda"))
    for batch in salus_serve.batches():
        x = torch.from_numpy(batch["x"].copy()).cuda()
        batch.answer(y=classify(x).cpu().numpy())
