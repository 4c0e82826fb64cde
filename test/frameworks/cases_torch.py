# SPDX-License-Identifier: Apache-2.0
"""PyTorch: its own kernels, which are machine code; NVIDIA's libraries; torch.compile; training."""
import hashlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from case import case, close, equal, holds, main

torch.manual_seed(17)
STEPS = 50
# With folding, PyTorch would compute constants of a graph with its own kernels, which are machine code.
torch._inductor.config.joint_graph_constant_folding = False


def numbers(*shape, dtype=torch.float32):
    """Returns the same numbers on the CPU and the GPU."""
    a = torch.randn(*shape, dtype=torch.float32).to(dtype)
    return a, a.cuda()


def both(f, *arguments, tolerance=1e-5, what="values"):
    """Compares a function's results on the GPU and on the CPU."""
    close(f(*(a.cuda() for a in arguments)).cpu(), f(*arguments), tolerance, what)


# ---- without compilers ---------------------------------------------------------------------------

@case
def memory():
    """copies of all kinds, pinned memory, zeros, statistics"""
    a, x = numbers(1000, 37)
    equal(x.cpu(), a)
    equal(x[10:20].cpu(), a[10:20], "rows")
    equal(x.clone().cpu(), a, "a clone")
    equal(torch.zeros(100, 3, device="cuda").cpu(), torch.zeros(100, 3), "zeros")
    pinned = a.pin_memory()
    y = torch.empty_like(a, device="cuda")
    y.copy_(pinned, non_blocking=True)
    back = torch.empty_like(a, pin_memory=True)
    back.copy_(y, non_blocking=True)
    torch.cuda.synchronize()
    equal(back, a, "by pinned memory")
    holds(torch.cuda.memory_allocated() >= a.numel() * 8, "memory_allocated")
    free, total = torch.cuda.mem_get_info()
    holds(0 < free <= total, "mem_get_info")
    del x, y
    torch.cuda.empty_cache()


@case
def views():
    """a column, gathered by a kernel of PyTorch"""
    both(lambda x: x[10:20, 3], torch.randn(40, 7))


@case
def streams():
    """streams, events, waits between them, times"""
    a, _ = numbers(256, 256)
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(first):
        begin.record()
        x = a.cuda(non_blocking=True)
        y = x @ x
        end.record()
    second.wait_event(end)
    with torch.cuda.stream(second):
        z = y @ x
    second.synchronize()
    close(z.cpu(), a @ a @ a, 1e-3)
    holds(begin.elapsed_time(end) > 0, "a time")


@case
def elementwise():
    """a sum of its own kernels, without a compiler"""
    both(lambda x: x + 1, torch.randn(100))


@case
def random():
    """numbers from its own generator"""
    u = torch.rand(1000, device="cuda").cpu()
    holds(u.min() >= 0 and u.max() < 1 and 0.4 < u.mean() < 0.6, "uniform numbers")


# ---- NVIDIA's libraries --------------------------------------------------------------------------

@case
def matmul():
    """cuBLAS: mm, mv, bmm, addmm; float32, float64, complex"""
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-12)):
        a, b, v = (torch.randn(*s, dtype=dtype) for s in ((65, 129), (129, 70), (129,)))
        both(torch.mm, a, b, tolerance=tolerance, what="mm")
        both(torch.mv, a, v, tolerance=tolerance, what="mv")
        both(lambda p, q: p.T @ q.T, b, a, tolerance=tolerance, what="transposed")
        both(torch.bmm, torch.randn(5, 33, 20, dtype=dtype), torch.randn(5, 20, 9, dtype=dtype), tolerance=tolerance)
        both(torch.addmm, torch.randn(70, dtype=dtype), a, b, tolerance=tolerance, what="addmm")


@case
def matmul_half():
    """cuBLAS: float16 and bfloat16"""
    for dtype, tolerance in ((torch.float16, 4e-3), (torch.bfloat16, 3e-2)):
        a, x = numbers(128, 64, dtype=dtype)
        b, y = numbers(64, 96, dtype=dtype)
        close((x @ y).cpu().float(), a.float() @ b.float(), tolerance, str(dtype))


@case
def linear():
    """cuBLASLt: nn.Linear with a bias"""
    layer, x = nn.Linear(48, 72), torch.randn(30, 48)
    with torch.no_grad():
        want = layer(x)
        close(layer.cuda()(x.cuda()).cpu(), want, 1e-5)


@case
def linear_gradient():
    """gradients of nn.Linear without a compiler: a kernel of PyTorch sums that of the bias"""
    layer, x = nn.Linear(48, 72), torch.randn(30, 48, requires_grad=True)
    gpu = nn.Linear(48, 72)
    gpu.load_state_dict(layer.state_dict())
    gpu.cuda()
    y = x.detach().cuda().requires_grad_()
    g = torch.randn(30, 72)
    out, want = gpu(y), layer(x)
    close(out.detach().cpu(), want.detach(), 1e-5)
    want.backward(g)
    out.backward(g.cuda())
    close(y.grad.cpu(), x.grad, 1e-5, "gradient of x")
    close(gpu.weight.grad.cpu(), layer.weight.grad, 1e-5, "gradient of the weights")


@case
def linear_half():
    """cuBLASLt: nn.Linear in float16"""
    layer, x = nn.Linear(64, 64).half(), torch.randn(32, 64).half()
    want = torch.nn.functional.linear(x.float(), layer.weight.float(), layer.bias.float())
    with torch.no_grad():
        close(layer.cuda()(x.cuda()).cpu().float(), want, 5e-3)


@case
def convolution():
    """cuDNN: conv2d with strides, padding and groups; conv1d; conv3d"""
    with torch.no_grad():
        for layer, shape in ((nn.Conv2d(3, 16, 3, padding=1, bias=False), (4, 3, 20, 20)),
                             (nn.Conv2d(8, 8, 5, stride=2, groups=2, bias=False), (2, 8, 21, 21)),
                             (nn.Conv1d(4, 6, 3, bias=False), (3, 4, 50)),
                             (nn.Conv3d(2, 3, 3, bias=False), (1, 2, 8, 8, 8))):
            x = torch.randn(*shape)
            want = layer(x)
            close(layer.cuda()(x.cuda()).cpu(), want, 1e-4, str(layer))


@case
def convolution_gradient():
    """cuDNN: gradients of a convolution for its input and its weights"""
    layer, x = nn.Conv2d(4, 8, 3, padding=1, bias=False), torch.randn(2, 4, 12, 12, requires_grad=True)
    gpu = nn.Conv2d(4, 8, 3, padding=1, bias=False)
    gpu.load_state_dict(layer.state_dict())
    gpu.cuda()
    y, g = x.detach().cuda().requires_grad_(), torch.randn(2, 8, 12, 12)
    layer(x).backward(g)
    gpu(y).backward(g.cuda())
    close(y.grad.cpu(), x.grad, 1e-4, "input")
    close(gpu.weight.grad.cpu(), layer.weight.grad, 1e-4, "weights")


@case
def fft():
    """cuFFT: fft, rfft2"""
    both(torch.fft.fft, torch.randn(3, 100, dtype=torch.complex64), tolerance=1e-4)
    both(torch.fft.rfft2, torch.randn(16, 20), tolerance=1e-4)


@case
def solve():
    """cuSOLVER: linalg.solve, cholesky, SVD"""
    a = torch.randn(30, 30, dtype=torch.float64)
    both(torch.linalg.solve, a, torch.randn(30, 2, dtype=torch.float64), tolerance=1e-9)
    both(torch.linalg.cholesky, a @ a.T + 30 * torch.eye(30, dtype=torch.float64), tolerance=1e-9)
    both(torch.linalg.svdvals, a, tolerance=1e-9)


# ---- torch.compile -------------------------------------------------------------------------------

def compiled(f, *arguments, tolerance=1e-5, what="values"):
    """Compares a compiled function on the GPU with the function on the CPU."""
    got = torch.compile(f)(*(a.cuda() for a in arguments))
    close(got.cpu(), f(*arguments), tolerance, what)


@case
def compile_elementwise():
    """compiled: arithmetic, functions, masks, types, indexing"""
    x, y = torch.randn(50, 70), torch.randn(70)
    compiled(lambda a, b: torch.where(a > b, a.sin() * b, (a - b).sigmoid()).tanh() + 1, x, y)
    compiled(lambda a: torch.nn.functional.gelu(a) + torch.nn.functional.silu(a) + a.erf(), x)
    compiled(lambda a: (a.half() * 2).float() + a.double().exp().float(), x, tolerance=2e-3, what="types")
    compiled(lambda a: (a * 10).int() // 3 % 7 ^ 5, x, what="integers")
    i = torch.randint(0, 50, (30,))
    compiled(lambda a, k: a[k] + a.T[: 1, : 1], x, i, what="gather")
    compiled(lambda a, k: torch.zeros_like(a).index_add(0, k, a[:30]), x, i, what="scatter with atomics")


@case
def compile_reductions():
    """compiled: sums, maxima, means and variances, softmax, norms, cumsum, argmax"""
    x = torch.randn(40, 300)
    for f in (torch.sum, torch.amax, torch.mean, torch.var):
        compiled(lambda a, f=f: f(a, -1), x, tolerance=1e-4)
        compiled(lambda a, f=f: f(a, 0), x, tolerance=1e-4)
    compiled(lambda a: a.softmax(-1) + a.log_softmax(0), x)
    compiled(lambda a: torch.nn.functional.layer_norm(a, (300,)), x)
    compiled(lambda a: a.cumsum(-1), x, tolerance=1e-4)
    compiled(lambda a: a.argmax(-1), x)


@case
def compile_attention():
    """compiled: scaled dot product attention, written out"""
    q, k, v = (torch.randn(2, 4, 64, 32) for _ in range(3))
    compiled(lambda a, b, c: (a @ b.transpose(-1, -2) / 32**0.5).softmax(-1) @ c, q, k, v)


@case
def compile_attention_by_name():
    """compiled: torch.nn.functional.scaled_dot_product_attention"""
    q, k, v = (torch.randn(2, 4, 64, 32) for _ in range(3))
    compiled(torch.nn.functional.scaled_dot_product_attention, q, k, v)


@case
def compile_attention_plain():
    """the same with PyTorch's written-out form (SDPBackend.MATH)"""
    q, k, v = (torch.randn(2, 4, 64, 32) for _ in range(3))
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        compiled(torch.nn.functional.scaled_dot_product_attention, q, k, v)


@case
def compile_constants():
    """compiled with default settings: PyTorch's own kernels compute constants"""
    torch._inductor.config.joint_graph_constant_folding = True
    compiled(lambda a: torch.zeros_like(a).index_add(0, torch.arange(3, device=a.device), a[:3]), torch.randn(50, 70))


@case
def compile_random():
    """compiled: rand, dropout"""
    f = torch.compile(lambda x: torch.rand_like(x))
    u = f(torch.empty(20000, device="cuda")).cpu()
    close([u.mean(), u.var()], [0.5, 1 / 12], 0.02)
    d = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.3))(torch.zeros(20000).add(1).cuda()).cpu()
    close([(d != 0).float().mean(), d.max()], [0.7, 1 / 0.7], 0.02)


@case
def compile_autotuned():
    """compiled with max-autotune: matrix products by Triton"""
    a, b = torch.randn(64, 96), torch.randn(96, 80)
    f = torch.compile(lambda x, y: torch.relu(x @ y), mode="max-autotune-no-cudagraphs")
    close(f(a.cuda(), b.cuda()).cpu(), torch.relu(a @ b), 1e-4)


# ---- training ------------------------------------------------------------------------------------

class Block(nn.Module):
    """A transformer's block."""

    def __init__(self, size=32, heads=4):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in self.qkv(x).split(c, -1))
        s = (q @ k.transpose(-1, -2) / (c // self.heads) ** 0.5).softmax(-1)
        return self.out((s @ v).transpose(1, 2).reshape(b, t, c))

    def forward(self, x):
        x = x + self.attend(self.first(x))
        return x + self.mlp(self.second(x))


def perceptron():
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))


def convolutional():
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(64, 5))


def transformer():
    return nn.Sequential(Block(), Block(), nn.Flatten(), nn.Linear(32 * 10, 5))


def prepared(make, shape, device):
    """Returns model, data, optimiser, and the first gradient: PyTorch would fill in its own 1 with a kernel in machine
    code."""
    torch.manual_seed(3)
    model = make()
    data = [(torch.randn(16, *shape), torch.randint(0, 5, (16,))) for _ in range(4)]
    model.to(device)
    return model, data, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), torch.ones(()).to(device)


def parts_of_a_step(model, optimizer, device, mixed=False):
    """Returns the functions for the loss and the update. They are compiled for the GPU, where PyTorch's own kernels are
    machine code."""
    def full_loss(x, y):
        return nn.functional.cross_entropy(model(x), y)

    def mixed_loss(x, y):
        with torch.autocast(device, torch.bfloat16):
            return full_loss(x, y)

    def update():
        optimizer.step()

    loss_of = mixed_loss if mixed else full_loss
    return (torch.compile(loss_of), torch.compile(update)) if device == "cuda" else (loss_of, update)


def train(make, shape, device, steps=STEPS, mixed=False):
    """Returns the losses of some steps; mixed: under autocast in bfloat16."""
    model, data, optimizer, one = prepared(make, shape, device)
    loss_of, update = parts_of_a_step(model, optimizer, device, mixed)
    losses = []
    for step in range(steps):
        x, y = (t.to(device) for t in data[step % 4])
        loss = loss_of(x, y)
        loss.backward(one)
        update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
    return torch.stack([l.cpu() for l in losses])


def trained(make, shape):
    """Compares the losses on the GPU with those on the CPU."""
    got, want = train(make, shape, "cuda"), train(make, shape, "cpu")
    close(got, want, 1e-4, "losses")
    holds(want[-1] < want[0] / 2, f"it learns: {want[0]:.3f} to {want[-1]:.3f}")
    print("checksum", hashlib.sha256(got.numpy().tobytes()).hexdigest()[:16], flush=True)


def trained_mixed(make, shape, steps=20):
    """Compares the losses under autocast with the CPU's, within the rounding of bfloat16 (8 bits), and checks that they
    differ from those in float32."""
    got, want = (train(make, shape, device, steps, True) for device in ("cuda", "cpu"))
    full = train(make, shape, "cpu", steps)
    close(got, want, 2e-2, "losses")
    holds((got - full).abs().max() > 1e-4, "losses in bfloat16 are others than in float32")
    holds(want[-1] < want[0], f"it learns: {want[0]:.3f} to {want[-1]:.3f}")


@case
def train_mlp():
    """a perceptron, 50 steps"""
    trained(perceptron, (20,))


@case
def train_cnn():
    """convolutions, batch norm and pooling, 50 steps"""
    trained(convolutional, (1, 8, 8))


@case
def train_transformer():
    """two blocks of attention, 50 steps"""
    trained(transformer, (10, 32))


@case
def train_cnn_autocast():
    """the convolutions under autocast in bfloat16, 20 steps"""
    trained_mixed(convolutional, (1, 8, 8))


@case
def train_transformer_autocast():
    """the blocks of attention under autocast in bfloat16, 20 steps"""
    trained_mixed(transformer, (10, 32))


@case(env={"PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync"})
def train_async_allocator():
    """the perceptron with memory of cudaMallocAsync, which --allocator async sets"""
    trained(perceptron, (20,))


@case(env={"PYTORCH_ALLOC_CONF": "expandable_segments:True"})
def train_expandable_segments():
    """the perceptron with expandable segments, which are virtual memory"""
    trained(perceptron, (20,))


@case(jobs=2, lane="fair")
def train_beside_fair():
    """two jobs side by side, in turns, with the same losses to the bit"""
    trained(perceptron, (20,))


@case(jobs=2, lane="pack")
def train_beside_pack():
    """two jobs side by side, at once, with the same losses to the bit"""
    trained(perceptron, (20,))


@case
def loader_forks():
    """a DataLoader whose two workers are forked, after the GPU was used; pinned batches"""
    a, x = numbers(64, 20)
    labels = torch.arange(64) % 5
    for pin in (False, True):
        loader = DataLoader(TensorDataset(a, labels), batch_size=16, num_workers=2, pin_memory=pin,
                            multiprocessing_context="fork")
        got = [(v.cuda(non_blocking=pin) @ x.T).cpu() for v, _ in loader]
        close(torch.cat(got), a @ a.T, 1e-4, f"pinned: {pin}")


# ---- graphs, ranks -------------------------------------------------------------------------------

@case
def cuda_graph():
    """a captured product, replayed with other numbers"""
    a, x = numbers(64, 64)
    y = torch.empty_like(x)
    warm = torch.cuda.Stream()
    with torch.cuda.stream(warm):
        torch.mm(x, x, out=y)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        torch.mm(x, x, out=y)
    for _ in range(3):
        b = torch.randn(64, 64)
        x.copy_(b)
        g.replay()
        close(y.cpu(), b @ b, 1e-4)


@case(env={"PYTORCH_ALLOC_CONF": "backend:native"})
def train_graph():
    """the perceptron, 50 steps: forward, backward and update are one captured graph"""
    model, data, optimizer, one = prepared(perceptron, (20,), "cuda")
    x, y = (torch.empty_like(t, device="cuda") for t in data[0])
    loss_of, update = parts_of_a_step(model, optimizer, "cuda")

    def step():
        loss = loss_of(x, y)
        loss.backward(one)
        update()
        return loss

    def load(number):
        for to, tensor in zip((x, y), data[number % 4]):
            to.copy_(tensor)

    start = {k: v.cpu() for k, v in model.state_dict().items()}
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # before the capture, compiles everything and allocates the optimiser's memory
        load(0)
        step()
        optimizer.zero_grad(set_to_none=True)
        step()
    torch.cuda.synchronize()
    model.load_state_dict(start)
    for state in optimizer.state.values():
        state["momentum_buffer"].copy_(torch.zeros(state["momentum_buffer"].shape))
    optimizer.zero_grad(set_to_none=True)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        loss = step()
    losses = []
    for number in range(STEPS):
        load(number)
        g.replay()
        losses.append(loss.detach().cpu())
    close(torch.stack(losses), train(perceptron, (20,), "cpu"), 1e-4, "losses")


@case(env={"PYTORCH_ALLOC_CONF": "backend:native"})
def compile_cuda_graphs():
    """compiled with reduce-overhead: steps as graphs; a kernel of PyTorch copies their inputs"""
    a, b = torch.randn(64, 64), torch.randn(64)
    f = torch.compile(lambda x, y: torch.relu(x @ x + y).softmax(-1), mode="reduce-overhead")
    for _ in range(4):
        close(f(a.cuda(), b.cuda()).cpu(), torch.relu(a @ a + b).softmax(-1), 1e-4)


@case(env={"PYTORCH_ALLOC_CONF": "backend:native"})
def nccl():
    """one rank: broadcast, all_reduce, all_gather; NCCL's image has 180 MiB, and a kernel may call any function"""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
    a, x = numbers(1000)
    torch.distributed.broadcast(x, 0)
    torch.distributed.all_reduce(x)
    parts = [torch.empty_like(x)]
    torch.distributed.all_gather(parts, x)
    equal(parts[0].cpu(), a)
    torch.distributed.destroy_process_group()


def double_it(inbox, outbox):
    """Runs in the other process."""
    t = inbox.get()
    outbox.put((t.device.type, (t @ t).cpu()))
    t.zero_()
    torch.cuda.synchronize()
    del t
    outbox.put("zeros")
    inbox.get()


@case
def share_tensor():
    """a tensor of the GPU that a spawned process opens, multiplies and writes to"""
    ways = torch.multiprocessing.get_context("spawn")
    inbox, outbox = ways.Queue(), ways.Queue()
    other = ways.Process(target=double_it, args=(inbox, outbox), daemon=True)
    other.start()
    a, x = numbers(16, 16)
    inbox.put(x)
    device, product = outbox.get(timeout=600)
    holds(device == "cuda", "the device")
    close(product, a @ a, 1e-4)
    holds(outbox.get(timeout=600) == "zeros", "its word")
    equal(x.cpu(), torch.zeros(16, 16), "what the other wrote")
    inbox.put(None)
    other.join(600)
    holds(other.exitcode == 0, "its end")


@case
def nccl_by_address():
    """one rank of NCCL in a program that no launcher started, by an address"""
    torch.distributed.init_process_group("nccl", init_method="tcp://127.0.0.1:0", rank=0, world_size=1,
                                         device_id=torch.device("cuda:0"))
    a, x = numbers(1000)
    torch.distributed.all_reduce(x)
    equal(x.cpu(), a)
    torch.distributed.destroy_process_group()


@case
def profiler():
    """torch.profiler: kernels and copies, below the operations that launched them"""
    from torch.profiler import ProfilerActivity, profile
    a, x = numbers(64, 64)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        for _ in range(5):
            y = x @ x
        back = y.cpu()
        torch.cuda.synchronize()
    close(back, a @ a, 1e-4)
    events = p.events()
    kernels = [e for e in events if e.device_type == torch.autograd.DeviceType.CUDA and "gemm" in e.name]
    holds(len(kernels) == 5, "five products")
    holds(all(k.time_range.elapsed_us() > 0 for k in kernels), "their times")
    holds(any("Memcpy DtoH" in e.name for e in events), "the copy back")
    products = [e for e in p.key_averages() if e.key == "aten::mm"]
    holds(products[0].device_time_total > 0, "the time of the operation")


@case
def report():
    """device queries: name, properties, processes' memory"""
    p = torch.cuda.get_device_properties(0)
    holds(torch.cuda.is_available() and torch.cuda.device_count() == 1, "one device")
    holds(p.total_memory > 0 and p.multi_processor_count > 0 and p.warp_size == 32, "its properties")
    holds("Salus" in torch.cuda.get_device_name(0), "its name")


if __name__ == "__main__":
    main()
