# SPDX-License-Identifier: Apache-2.0
"""Tests with Triton's own client: against test/serve/echo_front.c, run by run_front.py, and against salus-serve, run by
run_serve.py.

    triton_client.py PORT front|serve
"""
import sys

import ml_dtypes
import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

TYPES = {"BOOL": [True, False], "UINT8": [0, 255], "UINT16": [0, 65535], "UINT32": [0, 2**32 - 1], "UINT64": [0, 2**64 - 1],
         "INT8": [-128, 127], "INT16": [-2**15, 2**15 - 1], "INT32": [-2**31, 2**31 - 1], "INT64": [-2**63, 2**53 + 1],
         "FP16": [1.5, -65504], "FP32": [0.1, 3e38], "FP64": [0.1, 5e-324], "BYTES": ["a\"\n\0", "\u20ac\U0001f600"]}
NUMPY = {"BOOL": bool, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64, "BYTES": object}


def array(name):
    values = [v.encode() for v in TYPES[name]] if name == "BYTES" else TYPES[name]
    return np.array(values, dtype=NUMPY.get(name, name.lower()))


def same(got, want, what):
    if not (got == want if not isinstance(got, np.ndarray) else np.array_equal(got, want)):
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def add(client, binary_in, binary_out, model="add", output="sum", **more):
    inputs = []
    for name, values in (("a", [1, 2, 3]), ("b", [10, 20, 30])):
        inputs.append(http.InferInput(name, [3], "FP32"))
        inputs[-1].set_data_from_numpy(np.array(values, dtype=np.float32), binary_data=binary_in)
    outputs = None if binary_out is None else [http.InferRequestedOutput(output, binary_data=binary_out)]
    return client.infer(model, inputs, outputs=outputs, **more)


def refused(call, status, part):
    try:
        call()
    except InferenceServerException as e:
        same(e.status(), str(status), "its status")
        same(part in e.message(), True, e.message())
        return
    raise AssertionError(f"not refused: {part}")


def health_and_metadata(client):
    same((client.is_server_live(), client.is_server_ready()), (True, True), "the server")
    same((client.is_model_ready("add"), client.is_model_ready("add", "2")), (True, True), "a model")
    same((client.is_model_ready("unready"), client.is_model_ready("none")), (False, False), "those that are not")
    same("binary_tensor_data" in client.get_server_metadata()["extensions"], True, "extensions")
    same([i["name"] for i in client.get_model_metadata("add", "1")["inputs"]], ["a", "b"], "inputs")
    same(client.get_model_config("add")["max_batch_size"], 0, "its configuration")
    same(("add", "2", "READY") in [(m["name"], m["version"], m["state"]) for m in client.get_model_repository_index()], True, "index")
    refused(lambda: client.get_model_metadata("none"), 404, 'no model "none"')


def sums(client, model, output):
    for binary_in in (False, True):
        for binary_out in (False, True, None):
            r = add(client, binary_in, binary_out, model, output, request_id="r7", model_version="1")
            same(r.as_numpy(output), np.array([11, 22, 33], dtype=np.float32), (model, binary_in, binary_out))
            same((r.get_response()["id"], r.get_response()["model_version"]), ("r7", "1"), "whose it is")
    pending = [client.async_infer(model, [*two(i)]) for i in range(8)]
    same([int(p.get_result().as_numpy(output)[0]) for p in pending], [2 * i for i in range(8)], "several at a time")
    refused(lambda: add(client, True, True, model, output, sequence_id=3), 400, "not supported")


def inference(client):
    for model in ("add", "later"):
        sums(client, model, "sum")
    refused(lambda: add(client, True, True, "busy"), 429, "too many")
    refused(lambda: add(client, True, True, "late", parameters={"deadline_ms": 5}), 504, "deadline")


def two(value):
    for name in "ab":
        i = http.InferInput(name, [1], "FP32")
        i.set_data_from_numpy(np.array([value], dtype=np.float32))
        yield i


def datatypes(client):
    """Sends every datatype there and back, in both forms where the client has both."""
    for binary in (True, False):
        inputs = []
        for name in TYPES:
            i = http.InferInput(name, [2], name)
            i.set_data_from_numpy(array(name), binary_data=binary or name == "FP16")
            inputs.append(i)
        bf16 = http.InferInput("BF16", [2], "BF16")
        bf16.set_data_from_numpy(np.array([1.5, -2], dtype=ml_dtypes.bfloat16))
        inputs.append(bf16)
        outputs = [http.InferRequestedOutput(n, binary_data=binary) for n in TYPES]
        outputs.append(http.InferRequestedOutput("BF16", binary_data=True))
        r = client.infer("all", inputs, outputs=outputs)
        for name in TYPES:
            got = r.as_numpy(name)
            if name == "BYTES" and not binary:
                got = np.array([v.encode() if isinstance(v, str) else v for v in got.tolist()], dtype=object)
            same(got, array(name), (name, binary))
        same(np.asarray(r.as_numpy("BF16"), dtype=np.float32), np.array([1.5, -2], dtype=np.float32), "BF16")


# ---- salus-serve ---------------------------------------------------------------------------------

def served_metadata(client):
    same((client.is_server_live(), client.is_server_ready(), client.is_model_ready("add")), (True, True, True), "ready")
    same((client.is_model_ready("none"), client.is_model_ready("add", "2")), (False, False), "those that are not")
    same([i["name"] for i in client.get_model_metadata("add", "1")["inputs"]], ["a", "b"], "inputs")
    same({m["name"]: m["state"] for m in client.get_model_repository_index()},
         {"add": "READY", "all": "READY", "slow": "READY"}, "index")
    refused(lambda: client.get_model_metadata("none"), 404, 'no model "none"')


def slow(client, ms, **more):
    i = http.InferInput("ms", [1], "INT32")
    i.set_data_from_numpy(np.array([ms], dtype=np.int32))
    return client.async_infer("slow", [i], **more)


def served_deadlines(client):
    """Deadlines set by the request's own parameter; and the error text of a failing program."""
    same(int(slow(client, 3).get_result().as_numpy("y")[0]), 6, "one that is slow")
    refused(lambda: slow(client, -1).get_result(), 500, "it was told to fail")
    busy = slow(client, 2000)
    refused(lambda: [slow(client, 1, parameters={"deadline_ms": 200}) for _ in range(4)][-1].get_result(), 504, "deadline")
    same(int(busy.get_result().as_numpy("y")[0]), 4000, "the one before it")


def large(client):
    """Sizes on either side of the limit above which batches are files."""
    for elements in (1, 7000, 9000, 300000):
        values = np.arange(elements, dtype=np.float32)
        inputs = [http.InferInput(n, [elements], "FP32") for n in "ab"]
        for i in inputs:
            i.set_data_from_numpy(values)
        same(client.infer("add", inputs).as_numpy("y"), 2 * values, f"{elements} elements")


def main():
    client = http.InferenceServerClient(f"127.0.0.1:{sys.argv[1]}", concurrency=8)
    if sys.argv[2] == "front":
        health_and_metadata(client)
        inference(client)
    else:
        served_metadata(client)
        sums(client, "add", "y")
        served_deadlines(client)
        large(client)
    datatypes(client)
    client.close()
    print("triton client: all as expected")


main()
