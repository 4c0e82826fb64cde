# SPDX-License-Identifier: Apache-2.0
"""TensorFlow and Keras: operations, gradients, layers, training."""
import os
import tempfile

import numpy
import tensorflow as tf

from case import case, close, equal, holds, main

holds(len(tf.config.list_physical_devices("GPU")) == 1, "a GPU is found")
tf.config.experimental.enable_tensor_float_32_execution(False)
rng = numpy.random.default_rng(29)


def numbers(*shape, dtype="float32"):
    return rng.standard_normal(shape).astype(dtype)


def both(f, *arguments, tolerance=1e-5, what="values"):
    """Compares a function's results on the GPU and on the CPU."""
    results = []
    for device in ("/GPU:0", "/CPU:0"):
        with tf.device(device):
            results.append(tf.nest.flatten(f(*(tf.constant(a) for a in arguments))))
    for got, want in zip(*results):
        close(got.numpy(), want.numpy(), tolerance, what)


@case
def elementwise():
    """arithmetic, functions, masks, types"""
    a, b = numbers(50, 70), numbers(70)
    both(lambda x, y: tf.tanh(tf.where(x > y, tf.sin(x) * y, tf.sigmoid(x - y))) + 1, a, b)
    both(lambda x: tf.cast(x * 10, tf.int32) // 3, a)
    both(lambda x: tf.cast(tf.cast(x, tf.float16) * 2, tf.float32), a, tolerance=2e-3)


@case
def shapes():
    """slices, transposes, concatenation, gather, scatter"""
    a = numbers(20, 30)
    both(lambda x: tf.transpose(x)[3:9, ::2], a, tolerance=0)
    both(lambda x: tf.concat([x, x + 1], 1), a)
    both(lambda x: tf.gather(x, [3, 1, 7]), a)
    both(lambda x: tf.scatter_nd([[1], [3], [1]], x[:3], [5, 30]), a)


@case
def reductions():
    """sums, maxima, argmax, softmax, cumsum, sort, top_k"""
    a = numbers(40, 300)
    both(lambda x: (tf.reduce_sum(x, 0), tf.reduce_max(x, 1), tf.math.reduce_variance(x), tf.argmax(x, 1)), a, tolerance=1e-4)
    both(lambda x: tf.nn.softmax(x), a)
    both(lambda x: tf.cumsum(x, 1), a, tolerance=1e-4)
    both(lambda x: (tf.sort(x, 1), tf.math.top_k(x, 5)[0]), a)


@case
def matmul():
    """cuBLAS: float32, float64, float16, batches"""
    both(tf.matmul, numbers(65, 129), numbers(129, 70), tolerance=1e-4)
    both(tf.matmul, numbers(65, 129, dtype="d"), numbers(129, 70, dtype="d"), tolerance=1e-12)
    both(tf.matmul, numbers(5, 33, 20), numbers(5, 20, 9), tolerance=1e-4, what="batch")
    a, b = numbers(64, 32, dtype="float16"), numbers(32, 48, dtype="float16")
    with tf.device("/GPU:0"):
        close(tf.matmul(a, b).numpy(), a.astype("f") @ b.astype("f"), 5e-3, "float16")


@case
def convolution():
    """cuDNN: conv2d and its gradients, pooling"""
    x, k = numbers(2, 12, 12, 4), numbers(3, 3, 4, 8)

    def f(x, k):
        with tf.GradientTape() as tape:
            tape.watch([x, k])
            y = tf.nn.max_pool2d(tf.nn.conv2d(x, k, 1, "SAME"), 2, 2, "VALID")
            s = tf.reduce_sum(y * y)
        return [y, *tape.gradient(s, [x, k])]

    both(f, x, k, tolerance=1e-3)


@case
def random():
    """stateless numbers: the same as on the CPU"""
    both(lambda s: tf.random.stateless_uniform([2000], s), numpy.array([5, 7]), tolerance=1e-6)
    both(lambda s: tf.random.stateless_normal([2000], s), numpy.array([5, 7]), tolerance=1e-4)


@case
def function():
    """tf.function with a loop and a gradient"""
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for i in tf.range(5):
                y = tf.sin(y) + tf.cast(i, tf.float32) * x
            s = tf.reduce_sum(y * y)
        return tape.gradient(s, x)

    both(f, numbers(50), tolerance=1e-4)


@case
def xla():
    """tf.function, compiled by XLA"""
    both(tf.function(lambda x: tf.nn.softmax(tf.sin(x) * 2 + 1), jit_compile=True), numbers(30, 40))


@case
def xla_int8():
    """products of int8 matrices, compiled by XLA"""
    a, b = (rng.integers(-128, 128, s).astype("int8") for s in ((32, 64), (64, 32)))
    product = tf.function(lambda x, y: tf.matmul(x, y, output_type=tf.int32), jit_compile=True)
    with tf.device("/GPU:0"):
        equal(product(tf.constant(a), tf.constant(b)).numpy(), a.astype("i") @ b.astype("i"), "int8")


@case
def linear_algebra():
    """cuSOLVER and cuFFT: solve, cholesky, SVD, FFT"""
    a = numbers(20, 20)
    s = a @ a.T + 20 * numpy.eye(20, dtype="f")
    both(tf.linalg.solve, s, numbers(20, 3), tolerance=1e-4)
    both(tf.linalg.cholesky, s, tolerance=1e-4)
    both(lambda x: tf.linalg.svd(x, compute_uv=False), a, tolerance=1e-4)
    both(lambda x: tf.abs(tf.signal.rfft(x)), numbers(3, 100), tolerance=1e-4)


def fit(make, x, y, device, rate):
    """Returns the losses of 50 steps, from the same weights."""
    tf.keras.utils.set_random_seed(3)
    with tf.device(device):
        model = make()
        model.compile(tf.keras.optimizers.SGD(rate, momentum=0.9), "sparse_categorical_crossentropy")
        return [float(model.train_on_batch(x[i % 4], y[i % 4])) for i in range(50)]


def learns(make, x, y, tolerance=1e-4, rate=0.05):
    """Compares the losses on the GPU with those on the CPU."""
    got, want = (fit(make, x, y, d, rate) for d in ("/GPU:0", "/CPU:0"))
    close(got, want, tolerance, "losses")
    holds(want[-1] < want[0], f"it learns: {want[0]} to {want[-1]}")


def trained(make, *shape, **how):
    learns(make, numbers(4, 16, *shape), rng.integers(0, 5, (4, 16)), **how)


def perceptron():
    layers = tf.keras.layers
    return tf.keras.Sequential([layers.Input((20,)), layers.Dense(64, "relu"), layers.Dense(5, "softmax", dtype="float32")])


def convolutional():
    layers = tf.keras.layers
    return tf.keras.Sequential([
        layers.Input((8, 8, 1)), layers.Conv2D(8, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(),
        layers.MaxPooling2D(), layers.Conv2D(16, 3, padding="same", activation="relu"), layers.Flatten(),
        layers.Dense(5, "softmax", dtype="float32")])


@case
def keras_mlp():
    """a perceptron, 50 steps"""
    trained(perceptron, 20)


@case
def keras_cnn():
    """convolutions, batch norm and pooling, 50 steps"""
    trained(convolutional, 8, 8, 1)


def recurrent(layer, **options):
    """Returns a network with one layer of that kind."""
    layers = tf.keras.layers
    return lambda: tf.keras.Sequential([layers.Input((10, 8)), getattr(layers, layer)(24, **options),
                                        layers.Dense(5, "softmax")])


@case
def keras_lstm():
    """an LSTM by cuDNN, 50 steps"""
    trained(recurrent("LSTM"), 10, 8)


@case
def keras_gru():
    """a GRU by cuDNN, 50 steps"""
    trained(recurrent("GRU"), 10, 8)


@case
def keras_lstm_unfused():
    """the LSTM as a loop of operations (use_cudnn=False), 50 steps"""
    trained(recurrent("LSTM", use_cudnn=False), 10, 8)


def attention():
    """Defines one block of a transformer over an embedding."""
    layers = tf.keras.layers
    tokens = layers.Input((10,), dtype="int32")
    x = layers.Embedding(50, 32)(tokens)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 8)(x, x))
    x = layers.LayerNormalization()(x + layers.Dense(32)(layers.Dense(64, "gelu")(x)))
    return tf.keras.Model(tokens, layers.Dense(5, "softmax")(layers.Flatten()(x)))


@case
def keras_transformer():
    """an embedding, multi-head attention, layer norms, 50 steps"""
    learns(attention, rng.integers(0, 50, (4, 16, 10)), rng.integers(0, 5, (4, 16)))


@case
def keras_mixed_precision():
    """the perceptron in mixed_float16, with its loss scaled, 50 steps"""
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    trained(perceptron, 20, tolerance=5e-3)


@case
def keras_mixed_precision_cnn():
    """the convolutions in mixed_float16, with 50 steps small enough that rounding errors do not grow"""
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    trained(convolutional, 8, 8, 1, tolerance=2e-2, rate=0.005)


@case
def keras_mixed_bfloat16():
    """the perceptron in mixed_bfloat16, 50 steps"""
    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    trained(perceptron, 20, tolerance=3e-2)


@case(env={"TF_GPU_ALLOCATOR": "cuda_malloc_async"})
def keras_async_allocator():
    """the perceptron with memory of cudaMallocAsync, which --allocator async sets, 50 steps"""
    trained(perceptron, 20)


@case
def fit_and_save():
    """Keras: fit with a tf.data pipeline, evaluate, predict; saved and loaded"""
    x, y = numbers(64, 20), rng.integers(0, 5, 64)
    pipeline = tf.data.Dataset.from_tensor_slices((x, y)).batch(16).prefetch(2)
    results = []
    for device in ("/GPU:0", "/CPU:0"):
        tf.keras.utils.set_random_seed(3)
        with tf.device(device), tempfile.TemporaryDirectory() as folder:
            model = perceptron()
            model.compile("adam", "sparse_categorical_crossentropy")
            history = model.fit(pipeline, epochs=5, shuffle=False, verbose=0).history["loss"]
            model.save(os.path.join(folder, "model.keras"))
            again = tf.keras.models.load_model(os.path.join(folder, "model.keras"))
            results.append((history, again.evaluate(pipeline, verbose=0), again.predict(x, verbose=0)))
    for got, want, what in zip(*results, ("losses", "evaluate", "predict")):
        close(got, want, 1e-4, what)


if __name__ == "__main__":
    main()
