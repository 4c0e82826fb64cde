# SPDX-License-Identifier: Apache-2.0
"""Python interface to libsalus_serve.so (salus_serve.h) for a model's program:

    import salus_serve
    model = ...                               # load the model first, because batches follow
    for batch in salus_serve.batches():
        x = batch["x"]                        # of all requests, joined along the first dimension
        batch.answer(y=model(x))              # as many rows as x has

Tensors are numpy arrays or, without numpy, memoryviews with the tensor's shape. They are read-only
and become invalid when the batch is answered: copy a tensor to keep it (torch.from_numpy(x.copy())).
A BF16 element is two bytes, as is an FP16 element without numpy; BYTES is a list of bytes.

Requests that cannot be joined are handled one by one: batch.input("x", i), batch.answer_one(i, y=...),
and then batch.done(). batch.fail("why") reports that this batch failed."""
import ctypes
import os

try:
    import numpy
except ImportError:
    numpy = None

MAX_RANK = 16
# datatype: format of a memoryview, and bytes per element
TYPES = {"BOOL": ("?", 1), "UINT8": ("B", 1), "UINT16": ("H", 2), "UINT32": ("I", 4), "UINT64": ("Q", 8),
         "INT8": ("b", 1), "INT16": ("h", 2), "INT32": ("i", 4), "INT64": ("q", 8), "FP16": ("H", 2),
         "FP32": ("f", 4), "FP64": ("d", 8), "BF16": ("H", 2)}
FORMATS = {f: name for name, (f, _) in TYPES.items() if name not in ("FP16", "BF16")}
FORMATS.update({"e": "FP16", "l": "INT64", "L": "UINT64", "c": "UINT8"})


class Error(Exception):
    """An error of the library, with the text of salus_serve_error."""


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("datatype", ctypes.c_char_p), ("rank", ctypes.c_int),
                ("shape", ctypes.c_int64 * MAX_RANK), ("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64)]


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    name = "libsalus_serve.so"
    places = [os.environ.get("SALUS_SERVE_LIBRARY"), os.path.join(here, name), os.path.join(here, "..", name)]
    lib = ctypes.CDLL(next((p for p in places if p and os.path.exists(p)), name))
    for function, result in (("open", ctypes.c_void_p), ("output", ctypes.c_void_p), ("error", ctypes.c_char_p),
                             ("input_name", ctypes.c_char_p), ("rows", ctypes.c_int64)):
        getattr(lib, "salus_serve_" + function).restype = result
    return lib


def _elements(data):
    """Splits the data of a BYTES tensor into its elements."""
    found, at = [], 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at:at + 4], "little")
        found.append(bytes(data[at + 4:end]))
        at = end
    return found


def _value(tensor):
    kind, shape = tensor.datatype.decode(), list(tensor.shape[:tensor.rank])
    data = (ctypes.c_char * tensor.bytes).from_address(tensor.data) if tensor.bytes else b""
    view = memoryview(data).toreadonly().cast("B")
    if kind == "BYTES":
        return _elements(view)
    if numpy:
        dtype = "<f2" if kind == "FP16" else TYPES[kind][0]
        return numpy.frombuffer(view, dtype).reshape(shape)
    if not tensor.bytes or not shape:
        return view.cast(TYPES[kind][0])
    return view.cast(TYPES[kind][0], shape)


def _plain(value):
    """Returns (datatype, shape, bytes) of a list of bytes, or of a buffer such as an array or a memoryview."""
    if isinstance(value, (list, tuple)) and all(isinstance(v, (bytes, str)) for v in value):
        value = [v.encode() if isinstance(v, str) else v for v in value]
        return "BYTES", [len(value)], b"".join(len(v).to_bytes(4, "little") + v for v in value)
    if numpy and not isinstance(value, memoryview):
        value = numpy.ascontiguousarray(value) if getattr(value, "shape", None) != () else numpy.asarray(value)
        shape = list(value.shape)
        if value.dtype.kind not in "biuf" or value.dtype.byteorder == ">":
            raise Error(f"an output has dtype {value.dtype}, for which there is no datatype: convert it")
        return FORMATS[memoryview(value).format.lstrip("<=@")], shape, value.tobytes()
    view = memoryview(value)
    return FORMATS[view.format.lstrip("<=@")], list(view.shape), view.tobytes()


class Batch:
    """A batch of requests, valid until it is answered or the next one is taken. `datatypes` in answers,
    such as {"y": "BF16"}, overrides the datatype of values whose elements have the same size."""

    def __init__(self, lib, handle):
        self._lib, self._handle = lib, handle
        self.size = lib.salus_serve_size(handle)
        names = range(lib.salus_serve_inputs(handle))
        self.names = [lib.salus_serve_input_name(handle, i).decode() for i in names]

    def _check(self, ok):
        if not ok:
            raise Error(self._lib.salus_serve_error(self._handle).decode())

    def __len__(self):
        return self.size

    def __getitem__(self, name):
        """Returns an input of all requests, joined; a list for BYTES."""
        t = Tensor()
        self._check(self._lib.salus_serve_joined(self._handle, name.encode(), ctypes.byref(t)) == 0)
        return _value(t)

    def input(self, name, request):
        t = Tensor()
        self._check(self._lib.salus_serve_input(self._handle, request, name.encode(), ctypes.byref(t)) == 0)
        return _value(t)

    def rows(self, request):
        rows = self._lib.salus_serve_rows(self._handle, request)
        self._check(rows >= 0)
        return rows

    def answer_one(self, request, datatypes=None, **outputs):
        """Sets outputs of one request. Call batch.done() once all requests have theirs."""
        for name, value in outputs.items():
            kind, shape, data = _plain(value)
            kind = (datatypes or {}).get(name, kind)
            room = self._lib.salus_serve_output(
                self._handle, request, name.encode(), kind.encode(), len(shape),
                (ctypes.c_int64 * max(1, len(shape)))(*shape), ctypes.c_uint64(len(data)))
            self._check(room)
            ctypes.memmove(room, data, len(data))

    def answer(self, datatypes=None, **outputs):
        """Answers the batch with outputs of all requests, divided into rows like the inputs."""
        for name, value in outputs.items():
            kind, shape, data = _plain(value)
            kind = (datatypes or {}).get(name, kind)
            if kind == "BYTES":
                self._divide(name, value)
                continue
            self._check(self._lib.salus_serve_answer(
                self._handle, name.encode(), kind.encode(), len(shape),
                (ctypes.c_int64 * max(1, len(shape)))(*shape), data) == 0)
        self.done()

    def _divide(self, name, value):
        at = 0
        if len(value) != sum(self.rows(i) for i in range(self.size)):
            raise Error(f'output "{name}" has {len(value)} rows, but the batch\'s inputs have another number')
        for i in range(self.size):
            self.answer_one(i, **{name: value[at:at + self.rows(i)]})
            at += self.rows(i)

    def done(self):
        self._check(self._lib.salus_serve_done(self._handle) == 0)

    def fail(self, why):
        self._check(self._lib.salus_serve_failed(self._handle, str(why).encode()) == 0)


def batches():
    """Yields each batch until salus-serve has no more. A batch that is not answered counts as failed."""
    lib = _load()
    handle = ctypes.c_void_p(lib.salus_serve_open())
    try:
        while True:
            got = lib.salus_serve_next(handle)
            if got < 0:
                raise Error(lib.salus_serve_error(handle).decode())
            if got == 0:
                return
            yield Batch(lib, handle)
    finally:
        lib.salus_serve_close(handle)
