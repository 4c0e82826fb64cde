# SPDX-License-Identifier: Apache-2.0
"""A PyTorch model for salus-serve (docs/serving.md): rows of 64 numbers, each to one of 10 classes. Its weights are drawn
from a seed; a real one loads its own."""
import torch

import salus_serve

torch.manual_seed(7)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
model = model.cuda().eval()

with torch.inference_mode():
    model(torch.zeros(1, 64, device="cuda"))        # what has to be loaded is loaded before anybody asks
    for batch in salus_serve.batches():
        x = torch.from_numpy(batch["x"].copy()).cuda()
        batch.answer(y=model(x).softmax(1).cpu().numpy())
