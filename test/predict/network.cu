/* SPDX-License-Identifier: Apache-2.0
 *
 * Trains a network of layers.h for a number of steps: network LAYERS STEPS [SECONDS]. After SECONDS
 * no further step begins if three have run.
 *
 * Weights and their momentum persist. Other tensors of a step are allocated where they are needed
 * and freed after their last use, as frameworks do. The host takes its time for each operator, as
 * the network's lines say, while the device continues. Gradients are those of the mean squared
 * distance to a target; the last line of the output says whether it fell.
 */
#include <math.h>
#include <time.h>

#include "../e2e/programs/common.h"
#include "layers.h"

#define THREADS 128
#define RATE 0.02f
#define MOMENTUM 0.9f
#define EPSILON 1e-5f

struct param {
    float *w, *v, *dw;
    int n;
};

struct node {
    struct layer l;
    float *y, *dy;
    float *gates, *cell, *recur; /* used by lstm and gru cells */
    struct param p[3];
};

static struct layers net;
static struct node nodes[LAYERS_MAX];
static cudaStream_t stream;
static uint32_t seed = 1;

#define GRID(n) (unsigned)(((n) + THREADS - 1) / THREADS), THREADS, 0, stream
#define AT(n)                                      \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i >= (n)) return

static float *take(size_t count) {
    float *p;

    CHECK(cudaMallocAsync((void **)&p, count * sizeof(float), stream));
    return p;
}

static float *take_zero(size_t count) {
    float *p = take(count);

    CHECK(cudaMemsetAsync(p, 0, count * sizeof(float), stream));
    return p;
}

static void give(float **p) {
    if (*p) CHECK(cudaFreeAsync(*p, stream));
    *p = NULL;
}

static void pause_ns(long long ns) {
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    if (ns > 0) nanosleep(&t, NULL);
}

static double seconds(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- products ---------------------------------------------------------------------------------
 */

/* c[b][m][p] = scale * sum over k of a and b, either of them transposed; with `add`, adds to c. */
__global__ void product(float *c, const float *a, const float *b, int batch, int M, int P, int K,
                        int ta, int tb, float scale, int add) {
    AT(batch * M * P);
    int p = i % P, m = i / P % M, n = i / P / M;
    const float *x = a + (size_t)n * M * K, *y = b + (size_t)n * K * P;
    float s = 0;

    for (int k = 0; k < K; k++)
        s += x[ta ? k * M + m : m * K + k] * y[tb ? p * K + k : k * P + p];
    c[i] = add ? c[i] + scale * s : scale * s;
}

__global__ void add_bias(float *y, const float *b, int n, int width) {
    AT(n);
    y[i] += b[i % width];
}

__global__ void sum_rows(float *db, const float *dy, int rows, int width) {
    AT(width);
    float s = 0;

    for (int r = 0; r < rows; r++)
        s += dy[r * width + i];
    db[i] += s;
}

/* ---- convolutions and pools ---------------------------------------------------------------------
 */

struct conv {
    int N, C, H, W, O, OH, OW, k, s, pad, g;
};

__global__ void conv_forward(float *y, const float *x, const float *w, const float *b,
                             struct conv c) {
    AT(c.N * c.O * c.OH * c.OW);
    int v = i % c.OW, u = i / c.OW % c.OH, o = i / c.OW / c.OH % c.O, n = i / c.OW / c.OH / c.O;
    int cg = c.C / c.g, first = o / (c.O / c.g) * cg;
    float s = b[o];

    for (int q = 0; q < cg; q++)
        for (int a = 0; a < c.k; a++)
            for (int e = 0; e < c.k; e++) {
                int h = u * c.s + a - c.pad, t = v * c.s + e - c.pad;

                if (h >= 0 && h < c.H && t >= 0 && t < c.W)
                    s += x[((n * c.C + first + q) * c.H + h) * c.W + t] *
                         w[((o * cg + q) * c.k + a) * c.k + e];
            }
    y[i] = s;
}

__global__ void conv_back_x(float *dx, const float *dy, const float *w, struct conv c) {
    AT(c.N * c.C * c.H * c.W);
    int t = i % c.W, h = i / c.W % c.H, q = i / c.W / c.H % c.C, n = i / c.W / c.H / c.C;
    int cg = c.C / c.g, og = c.O / c.g, group = q / cg;
    float s = 0;

    for (int o = group * og; o < (group + 1) * og; o++)
        for (int a = 0; a < c.k; a++)
            for (int e = 0; e < c.k; e++) {
                int u = h + c.pad - a, v = t + c.pad - e;

                if (u >= 0 && v >= 0 && u % c.s == 0 && v % c.s == 0 && u / c.s < c.OH &&
                    v / c.s < c.OW)
                    s += dy[((n * c.O + o) * c.OH + u / c.s) * c.OW + v / c.s] *
                         w[((o * cg + q % cg) * c.k + a) * c.k + e];
            }
    dx[i] += s;
}

__global__ void conv_back_w(float *dw, const float *dy, const float *x, struct conv c) {
    int cg = c.C / c.g;
    AT(c.O * cg * c.k * c.k);
    int e = i % c.k, a = i / c.k % c.k, q = i / c.k / c.k % cg, o = i / c.k / c.k / cg;
    int first = o / (c.O / c.g) * cg;
    float s = 0;

    for (int n = 0; n < c.N; n++)
        for (int u = 0; u < c.OH; u++)
            for (int v = 0; v < c.OW; v++) {
                int h = u * c.s + a - c.pad, t = v * c.s + e - c.pad;

                if (h >= 0 && h < c.H && t >= 0 && t < c.W)
                    s += dy[((n * c.O + o) * c.OH + u) * c.OW + v] *
                         x[((n * c.C + first + q) * c.H + h) * c.W + t];
            }
    dw[i] += s;
}

__global__ void conv_back_b(float *db, const float *dy, struct conv c) {
    AT(c.O);
    float s = 0;

    for (int n = 0; n < c.N; n++)
        for (int k = 0; k < c.OH * c.OW; k++)
            s += dy[(n * c.O + i) * c.OH * c.OW + k];
    db[i] += s;
}

__global__ void pool_forward(float *y, const float *x, struct conv c, int mean) {
    AT(c.N * c.C * c.OH * c.OW);
    int v = i % c.OW, u = i / c.OW % c.OH, plane = i / c.OW / c.OH;
    float best = -1e30f, sum = 0;

    for (int a = 0; a < c.k; a++)
        for (int e = 0; e < c.k; e++) {
            float z = x[(plane * c.H + u * c.s + a) * c.W + v * c.s + e];

            best = fmaxf(best, z);
            sum += z;
        }
    y[i] = mean ? sum / (c.k * c.k) : best;
}

/* Windows may overlap: each input element visits the windows that contain it. */
__global__ void pool_back(float *dx, const float *dy, const float *x, const float *y, struct conv c,
                          int mean) {
    AT(c.N * c.C * c.H * c.W);
    int t = i % c.W, h = i / c.W % c.H, plane = i / c.W / c.H;
    float s = 0;

    for (int u = h / c.s; u >= 0 && u * c.s + c.k > h; u--)
        for (int v = t / c.s; v >= 0 && v * c.s + c.k > t; v--) {
            int o = (plane * c.OH + u) * c.OW + v;

            if (u < c.OH && v < c.OW && (mean || y[o] == x[i]))
                s += mean ? dy[o] / (c.k * c.k) : dy[o];
        }
    dx[i] += s;
}

/* ---- element by element, and normalisations -----------------------------------------------------
 */

__global__ void relu_forward(float *y, const float *x, int n) {
    AT(n);
    y[i] = fmaxf(x[i], 0);
}

__global__ void relu_back(float *dx, const float *dy, const float *y, int n) {
    AT(n);
    if (y[i] > 0) dx[i] += dy[i];
}

__global__ void add_into(float *to, const float *from, int n) {
    AT(n);
    to[i] += from[i];
}

/* Copies planes of `part` elements out of or into planes of `whole`, at offset `skip`. */
__global__ void copy_part(float *to, const float *from, int n, int part, int whole, int skip,
                          int gather) {
    AT(n);
    int k = i / part * whole + skip + i % part;

    if (gather)
        to[i] += from[k];
    else
        to[k] = from[i];
}

__global__ void mean_forward(float *y, const float *x, int n, int steps, int width) {
    AT(n);
    float s = 0;

    for (int t = 0; t < steps; t++)
        s += x[(i / width * steps + t) * width + i % width];
    y[i] = s / steps;
}

__global__ void mean_back(float *dx, const float *dy, int n, int steps, int width) {
    AT(n);
    dx[i] += dy[i / width / steps * width + i % width] / steps;
}

/* Each group that is normalised together, a channel over the batch or a row, has a thread. */
struct groups {
    int count, inner, outer, stride; /* elements: outer times inner, `stride` apart, at i * inner */
    int affine_by_element;           /* ln: gain by position in the row; bn: by channel */
};

__device__ static int element(struct groups g, int i, int k) {
    return k / g.inner * g.stride + i * g.inner + k % g.inner;
}

__device__ static void moments(struct groups g, int i, const float *x, float *mean, float *scale) {
    int n = g.inner * g.outer;
    float s = 0, q = 0;

    for (int k = 0; k < n; k++)
        s += x[element(g, i, k)];
    *mean = s / n;
    for (int k = 0; k < n; k++) {
        float d = x[element(g, i, k)] - *mean;
        q += d * d;
    }
    *scale = rsqrtf(q / n + EPSILON);
}

__global__ void norm_forward(float *y, const float *x, const float *gain, const float *bias,
                             struct groups g) {
    AT(g.count);
    float mean, scale;

    moments(g, i, x, &mean, &scale);
    for (int k = 0; k < g.inner * g.outer; k++) {
        int e = element(g, i, k), p = g.affine_by_element ? k : i;

        y[e] = (x[e] - mean) * scale * gain[p] + bias[p];
    }
}

__global__ void norm_back(float *dx, float *dgain, float *dbias, const float *dy, const float *x,
                          const float *gain, struct groups g) {
    AT(g.count);
    int n = g.inner * g.outer;
    float mean, scale, a = 0, b = 0;

    moments(g, i, x, &mean, &scale);
    for (int k = 0; k < n; k++) {
        int e = element(g, i, k), p = g.affine_by_element ? k : i;
        float h = (x[e] - mean) * scale;

        atomicAdd(&dgain[p], dy[e] * h);
        atomicAdd(&dbias[p], dy[e]);
        a += dy[e] * gain[p];
        b += dy[e] * gain[p] * h;
    }
    for (int k = 0; k < n; k++) {
        int e = element(g, i, k), p = g.affine_by_element ? k : i;

        dx[e] += scale * (dy[e] * gain[p] - a / n - (x[e] - mean) * scale * b / n);
    }
}

__global__ void softmax_forward(float *y, const float *x, int rows, int width) {
    AT(rows);
    float most = -1e30f, s = 0;

    for (int k = 0; k < width; k++)
        most = fmaxf(most, x[i * width + k]);
    for (int k = 0; k < width; k++)
        s += y[i * width + k] = expf(x[i * width + k] - most);
    for (int k = 0; k < width; k++)
        y[i * width + k] /= s;
}

__global__ void softmax_back(float *dx, const float *dy, const float *y, int rows, int width) {
    AT(rows);
    float s = 0;

    for (int k = 0; k < width; k++)
        s += dy[i * width + k] * y[i * width + k];
    for (int k = 0; k < width; k++)
        dx[i * width + k] += y[i * width + k] * (dy[i * width + k] - s);
}

/* ---- cells: LSTM (4 gates: i, f, g, o), GRU (3: z, r, n) ----------------------------------------
 */

struct cell {
    int N, T, H, gates, t;
};

__device__ static float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

/* Step t: gates hold the input's product, recur the product of the state before. Gates become
 * the outputs of the non-linearities; y and cell are [N][T][H]. */
__global__ void cell_forward(float *gates, const float *recur, float *cell, float *y,
                             struct cell c) {
    AT(c.N * c.H);
    int n = i / c.H, h = i % c.H, row = (n * c.T + c.t) * c.gates * c.H,
        at = (n * c.T + c.t) * c.H + h;
    float *g = gates + row + h;
    const float *r = recur + row + h;

    if (c.gates == 4) {
        float before = c.t ? cell[at - c.H] : 0;

        for (int k = 0; k < 4; k++)
            g[k * c.H] = k == 2 ? tanhf(g[k * c.H] + r[k * c.H]) : sigmoid(g[k * c.H] + r[k * c.H]);
        cell[at] = g[c.H] * before + g[0] * g[2 * c.H];
        y[at] = g[3 * c.H] * tanhf(cell[at]);
    } else {
        float before = c.t ? y[at - c.H] : 0;

        g[0] = sigmoid(g[0] + r[0]);
        g[c.H] = sigmoid(g[c.H] + r[c.H]);
        g[2 * c.H] = tanhf(g[2 * c.H] + g[c.H] * r[2 * c.H]);
        y[at] = (1 - g[0]) * g[2 * c.H] + g[0] * before;
    }
}

/* Gates become their gradients, recur the gradient of the recurrent product. dy[t - 1] gets the
 * part that bypasses the gates, and dcell the gradient of the previous cell. */
__global__ void cell_back(float *gates, float *recur, const float *cell, const float *y, float *dy,
                          float *dcell, struct cell c) {
    AT(c.N * c.H);
    int n = i / c.H, h = i % c.H, row = (n * c.T + c.t) * c.gates * c.H,
        at = (n * c.T + c.t) * c.H + h, H = c.H;
    float *g = gates + row + h, *r = recur + row + h, d = dy[at];

    if (c.gates == 4) {
        float in = g[0], forget = g[H], new_ = g[2 * H], out = g[3 * H], z = tanhf(cell[at]);
        float dc = dcell[i] + d * out * (1 - z * z), before = c.t ? cell[at - H] : 0;

        g[0] = dc * new_ * in * (1 - in);
        g[H] = dc * before * forget * (1 - forget);
        g[2 * H] = dc * in * (1 - new_ * new_);
        g[3 * H] = d * z * out * (1 - out);
        dcell[i] = dc * forget;
        for (int k = 0; k < 4; k++)
            r[k * H] = g[k * H];
    } else {
        float update = g[0], reset = g[H], new_ = g[2 * H], before = c.t ? y[at - H] : 0;
        float dn = d * (1 - update) * (1 - new_ * new_);

        g[0] = r[0] = d * (before - new_) * update * (1 - update);
        g[H] = dn * r[2 * H] * reset * (1 - reset);
        r[H] = g[H];
        g[2 * H] = dn;
        r[2 * H] = dn * reset;
        if (c.t) dy[at - H] += d * update;
    }
}

/* Copies rows t of [N][T][width], or back: a step's part of a sequence as a matrix. */
__global__ void step_rows(float *rows, float *all, int n, int T, int t, int width, int back) {
    AT(n);
    float *e = &all[(i / width * T + t) * width + i % width];

    if (back)
        *e += rows[i];
    else
        rows[i] = *e;
}

/* ---- a layer forward ----------------------------------------------------------------------------
 */

static struct conv conv_of(const struct layer *l, const struct layer *x) {
    int conv = layer_is(l, "conv"), gap = layer_is(l, "gap");
    struct conv c = {net.batch,  x->size[0], x->size[1], x->size[2],
                     l->size[0], l->size[1], l->size[2]};

    c.k = gap ? x->size[1] : l->p[conv];
    c.s = gap ? 1 : l->p[conv + 1];
    c.pad = conv ? l->p[3] : 0;
    c.g = conv ? l->p[4] : 1;
    return c;
}

static struct groups groups_of(const struct layer *l) {
    int plane = l->rank == 3 ? l->size[1] * l->size[2] : 1, rows;
    struct groups bn = {l->size[0], plane, net.batch, l->size[0] * plane, 0};

    if (layer_is(l, "bn")) return bn;
    rows = net.batch * (l->rank == 2 ? l->size[0] : 1);
    struct groups ln = {rows, l->size[l->rank - 1], 1, 0, 1};
    return ln;
}

static void multiply(float *c, const float *a, const float *b, int batch, int M, int P, int K,
                     int ta, int tb, float scale, int add) {
    product<<<GRID(batch * M * P)>>>(c, a, b, batch, M, P, K, ta, tb, scale, add);
}

static void recurrent_forward(struct node *n, const struct node *x) {
    struct cell c = {net.batch, n->l.size[0], n->l.p[0], layer_is(&n->l, "lstm") ? 4 : 3, 0};
    int F = x->l.size[1], G = c.gates * c.H, rows = c.N * c.T;
    float *before = take_zero((size_t)c.N * c.H), *part = take((size_t)c.N * G);

    n->gates = take((size_t)rows * G);
    n->recur = take_zero((size_t)rows * G);
    n->cell = take_zero((size_t)rows * c.H);
    multiply(n->gates, x->y, n->p[0].w, 1, rows, G, F, 0, 1, 1, 0);
    add_bias<<<GRID(rows * G)>>>(n->gates, n->p[2].w, rows * G, G);
    for (c.t = 0; c.t < c.T; c.t++) {
        multiply(part, before, n->p[1].w, 1, c.N, G, c.H, 0, 1, 1, 0);
        add_bias<<<GRID(c.N * G)>>>(part, n->p[2].w + G, c.N * G, G);
        step_rows<<<GRID(c.N * G)>>>(part, n->recur, c.N * G, c.T, c.t, G, 1);
        cell_forward<<<GRID(c.N * c.H)>>>(n->gates, n->recur, n->cell, n->y, c);
        step_rows<<<GRID(c.N * c.H)>>>(before, n->y, c.N * c.H, c.T, c.t, c.H, 0);
    }
    give(&before);
    give(&part);
}

static void concat_forward(struct node *n, const struct node *a, const struct node *b) {
    int whole = layer_elements(&n->l), first = layer_elements(&a->l),
        second = layer_elements(&b->l);

    copy_part<<<GRID(net.batch * first)>>>(n->y, a->y, net.batch * first, first, whole, 0, 0);
    copy_part<<<GRID(net.batch * second)>>>(n->y, b->y, net.batch * second, second, whole, first,
                                            0);
}

static void forward(struct node *n) {
    const struct layer *l = &n->l;
    const struct node *x = &nodes[l->from], *b = &nodes[l->from2];
    int count = net.batch * layer_elements(l), width = l->size[l->rank - 1], rows = count / width;

    n->y = take(count);
    if (layer_is(l, "conv"))
        conv_forward<<<GRID(count)>>>(n->y, x->y, n->p[0].w, n->p[1].w, conv_of(l, &x->l));
    else if (layer_is(l, "maxpool") || layer_is(l, "avgpool") || layer_is(l, "gap"))
        pool_forward<<<GRID(count)>>>(n->y, x->y, conv_of(l, &x->l), !layer_is(l, "maxpool"));
    else if (layer_is(l, "relu"))
        relu_forward<<<GRID(count)>>>(n->y, x->y, count);
    else if (layer_is(l, "flatten") || layer_is(l, "add"))
        CHECK(cudaMemcpyAsync(n->y, x->y, count * sizeof(float), cudaMemcpyDeviceToDevice, stream));
    else if (layer_is(l, "bn") || layer_is(l, "ln"))
        norm_forward<<<GRID(groups_of(l).count)>>>(n->y, x->y, n->p[0].w, n->p[1].w, groups_of(l));
    else if (layer_is(l, "softmax"))
        softmax_forward<<<GRID(rows)>>>(n->y, x->y, rows, width);
    else if (layer_is(l, "mean"))
        mean_forward<<<GRID(count)>>>(n->y, x->y, count, x->l.size[0], width);
    else if (layer_is(l, "concat"))
        concat_forward(n, x, b);
    else if (layer_is(l, "scores"))
        multiply(n->y, x->y, b->y, net.batch, l->size[0], l->size[1], x->l.size[1], 0, 1,
                 rsqrtf((float)x->l.size[1]), 0);
    else if (layer_is(l, "mix"))
        multiply(n->y, x->y, b->y, net.batch, l->size[0], l->size[1], x->l.size[1], 0, 0, 1, 0);
    else if (layer_is(l, "fc")) {
        multiply(n->y, x->y, n->p[0].w, 1, rows, width, x->l.size[x->l.rank - 1], 0, 1, 1, 0);
        add_bias<<<GRID(count)>>>(n->y, n->p[1].w, count, width);
    } else
        recurrent_forward(n, x);
    if (layer_is(l, "add")) add_into<<<GRID(count)>>>(n->y, b->y, count);
}

/* ---- a layer backward
 * --------------------------------------------------------------------------- */

static float *gradient(struct node *n) {
    if (!n->dy) n->dy = take_zero((size_t)net.batch * layer_elements(&n->l));
    return n->dy;
}

static void recurrent_back(struct node *n, struct node *x) {
    struct cell c = {net.batch, n->l.size[0], n->l.p[0], layer_is(&n->l, "lstm") ? 4 : 3, 0};
    int F = x->l.size[1], G = c.gates * c.H, rows = c.N * c.T;
    float *dcell = take_zero((size_t)c.N * c.H), *part = take((size_t)c.N * G),
          *due = take((size_t)c.N * c.H);

    for (c.t = c.T - 1; c.t >= 0; c.t--) {
        cell_back<<<GRID(c.N * c.H)>>>(n->gates, n->recur, n->cell, n->y, n->dy, dcell, c);
        step_rows<<<GRID(c.N * G)>>>(part, n->recur, c.N * G, c.T, c.t, G, 0);
        if (!c.t) break;
        multiply(due, part, n->p[1].w, 1, c.N, c.H, G, 0, 0, 1, 0);
        step_rows<<<GRID(c.N * c.H)>>>(due, n->dy, c.N * c.H, c.T, c.t - 1, c.H, 1);
        step_rows<<<GRID(c.N * c.H)>>>(due, n->y, c.N * c.H, c.T, c.t - 1, c.H, 0);
        multiply(n->p[1].dw, part, due, 1, G, c.H, c.N, 1, 0, 1, 1);
    }
    multiply(n->p[0].dw, n->gates, x->y, 1, G, F, rows, 1, 0, 1, 1);
    sum_rows<<<GRID(G)>>>(n->p[2].dw, n->gates, rows, G);
    sum_rows<<<GRID(G)>>>(n->p[2].dw + G, n->recur, rows, G);
    multiply(gradient(x), n->gates, n->p[0].w, 1, rows, F, G, 0, 0, 1, 1);
    give(&dcell);
    give(&part);
    give(&due);
    give(&n->gates);
    give(&n->recur);
    give(&n->cell);
}

static void dense_back(struct node *n, struct node *x) {
    int out = n->l.p[0], in = x->l.size[x->l.rank - 1],
        rows = net.batch * layer_elements(&n->l) / out;

    multiply(gradient(x), n->dy, n->p[0].w, 1, rows, in, out, 0, 0, 1, 1);
    multiply(n->p[0].dw, n->dy, x->y, 1, out, in, rows, 1, 0, 1, 1);
    sum_rows<<<GRID(out)>>>(n->p[1].dw, n->dy, rows, out);
}

static void conv_back(struct node *n, struct node *x) {
    struct conv c = conv_of(&n->l, &x->l);
    int count = net.batch * layer_elements(&x->l);

    conv_back_x<<<GRID(count)>>>(gradient(x), n->dy, n->p[0].w, c);
    conv_back_w<<<GRID(n->p[0].n)>>>(n->p[0].dw, n->dy, x->y, c);
    conv_back_b<<<GRID(c.O)>>>(n->p[1].dw, n->dy, c);
}

static void concat_back(struct node *n, struct node *a, struct node *b) {
    int whole = layer_elements(&n->l), first = layer_elements(&a->l),
        second = layer_elements(&b->l);

    copy_part<<<GRID(net.batch * first)>>>(gradient(a), n->dy, net.batch * first, first, whole, 0,
                                           1);
    copy_part<<<GRID(net.batch * second)>>>(gradient(b), n->dy, net.batch * second, second, whole,
                                            first, 1);
}

/* Gradients of a and b; for `scores`, b is transposed. */
static void products_back(struct node *n, struct node *a, struct node *b) {
    int M = n->l.size[0], P = n->l.size[1], K = a->l.size[1], scores = layer_is(&n->l, "scores");
    float scale = scores ? rsqrtf((float)K) : 1;

    multiply(gradient(a), n->dy, b->y, net.batch, M, K, P, 0, !scores, scale, 1);
    if (scores)
        multiply(gradient(b), n->dy, a->y, net.batch, P, K, M, 1, 0, scale, 1);
    else
        multiply(gradient(b), a->y, n->dy, net.batch, K, P, M, 1, 0, scale, 1);
}

static void backward(struct node *n) {
    const struct layer *l = &n->l;
    struct node *x = &nodes[l->from], *b = &nodes[l->from2];
    int count = net.batch * layer_elements(l), from = net.batch * layer_elements(&x->l);
    int width = l->size[l->rank - 1];

    if (layer_is(l, "conv"))
        conv_back(n, x);
    else if (layer_is(l, "fc"))
        dense_back(n, x);
    else if (layer_is(l, "lstm") || layer_is(l, "gru"))
        recurrent_back(n, x);
    else if (layer_is(l, "maxpool") || layer_is(l, "avgpool") || layer_is(l, "gap"))
        pool_back<<<GRID(from)>>>(gradient(x), n->dy, x->y, n->y, conv_of(l, &x->l),
                                  !layer_is(l, "maxpool"));
    else if (layer_is(l, "relu"))
        relu_back<<<GRID(count)>>>(gradient(x), n->dy, n->y, count);
    else if (layer_is(l, "bn") || layer_is(l, "ln"))
        norm_back<<<GRID(groups_of(l).count)>>>(gradient(x), n->p[0].dw, n->p[1].dw, n->dy, x->y,
                                                n->p[0].w, groups_of(l));
    else if (layer_is(l, "softmax"))
        softmax_back<<<GRID(count / width)>>>(gradient(x), n->dy, n->y, count / width, width);
    else if (layer_is(l, "mean"))
        mean_back<<<GRID(from)>>>(gradient(x), n->dy, from, x->l.size[0], width);
    else if (layer_is(l, "concat"))
        concat_back(n, x, b);
    else if (layer_is(l, "scores") || layer_is(l, "mix"))
        products_back(n, x, b);
    else
        add_into<<<GRID(count)>>>(gradient(x), n->dy, count);
    if (layer_is(l, "add")) add_into<<<GRID(count)>>>(gradient(b), n->dy, count);
}

/* ---- weights and steps --------------------------------------------------------------------------
 */

__global__ void update(float *w, float *v, const float *dw, int n) {
    AT(n);
    v[i] = MOMENTUM * v[i] + fminf(fmaxf(dw[i], -1), 1);
    w[i] -= RATE * v[i];
}

/* Computes dy of the last layer, and adds the loss to *loss. */
__global__ void distance(float *dy, float *loss, const float *y, int n) {
    AT(n);
    float d = y[i] - (float)(i % 7) / 7;

    dy[i] = 2 * d / n;
    atomicAdd(loss, d * d / n);
}

static void make_param(struct param *p, int n, float scale, float at) {
    float *host = (float *)malloc(n * sizeof(*host));

    p->n = n;
    CHECK(cudaMalloc((void **)&p->w, n * sizeof(float)));
    CHECK(cudaMalloc((void **)&p->v, n * sizeof(float)));
    for (int i = 0; i < n; i++)
        host[i] = at + scale * random_unit(&seed);
    CHECK(cudaMemcpy(p->w, host, n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(p->v, 0, n * sizeof(float)));
    free(host);
}

static void make_params(struct node *n) {
    const struct layer *l = &n->l, *x = &nodes[l->from].l;
    int last = x->size[x->rank - 1], k = l->p[1], width = layer_is(l, "bn") ? l->size[0] : last;

    if (layer_is(l, "conv")) {
        int each = x->size[0] / l->p[4] * k * k;

        make_param(&n->p[0], l->p[0] * each, sqrtf(3.0f / each), 0);
        make_param(&n->p[1], l->p[0], 0, 0);
    } else if (layer_is(l, "fc")) {
        make_param(&n->p[0], l->p[0] * last, sqrtf(3.0f / last), 0);
        make_param(&n->p[1], l->p[0], 0, 0);
    } else if (layer_is(l, "bn") || layer_is(l, "ln")) {
        make_param(&n->p[0], width, 0, 1);
        make_param(&n->p[1], width, 0, 0);
    } else if (layer_is(l, "lstm") || layer_is(l, "gru")) {
        int gates = layer_is(l, "lstm") ? 4 : 3, h = l->p[0];

        make_param(&n->p[0], gates * h * last, sqrtf(1.0f / last), 0);
        make_param(&n->p[1], gates * h * h, sqrtf(1.0f / h), 0);
        make_param(&n->p[2], 2 * gates * h, 0, 0);
    }
}

static void params_of(struct node *n, int done) {
    for (struct param *p = n->p; p < n->p + 3; p++) {
        if (!p->n) continue;
        if (!done) {
            p->dw = take_zero(p->n);
            continue;
        }
        update<<<GRID(p->n)>>>(p->w, p->v, p->dw, p->n);
        give(&p->dw);
    }
}

static float step(const float *input, int input_count) {
    struct node *last = &nodes[net.count - 1];
    int count = net.batch * layer_elements(&last->l);
    float *loss, value;

    mark();
    pause_ns((long long)net.load_ns * input_count * (long long)sizeof(float));
    nodes[0].y = take(input_count);
    CHECK(cudaMemcpyAsync(nodes[0].y, input, input_count * sizeof(float), cudaMemcpyHostToDevice,
                          stream));
    for (int i = 1; i < net.count; i++) {
        pause_ns(net.dispatch_us * 1000ll);
        forward(&nodes[i]);
    }
    loss = take_zero(1);
    distance<<<GRID(count)>>>(gradient(last), loss, last->y, count);
    for (int i = net.count - 1; i > 0; i--) {
        pause_ns(net.dispatch_us * 1000ll);
        params_of(&nodes[i], 0);
        if (nodes[i].dy) backward(&nodes[i]);
        params_of(&nodes[i], 1);
        give(&nodes[i].y);
        give(&nodes[i].dy);
    }
    give(&nodes[0].y);
    give(&nodes[0].dy);
    CHECK(cudaMemcpyAsync(&value, loss, sizeof(value), cudaMemcpyDeviceToHost, stream));
    give(&loss);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGetLastError());
    return value;
}

int main(int argc, char **argv) {
    int steps = argc > 2 ? atoi(argv[2]) : 1, input_count, done = 0;
    double limit = argc > 3 ? atof(argv[3]) : 1e9, begun = seconds();
    float *input, first = 0, value = 0;

    if (argc < 2) return 2;
    layers_read(&net, argv[1]);
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < net.count; i++) {
        nodes[i].l = net.layer[i];
        if (i) make_params(&nodes[i]);
    }
    input_count = net.batch * layer_elements(&net.layer[0]);
    input = (float *)malloc(input_count * sizeof(*input));
    for (int i = 0; i < input_count; i++)
        input[i] = random_unit(&seed);
    while (done < steps && (done < 3 || seconds() - begun < limit)) {
        value = step(input, input_count);
        if (done++ == 0) first = value;
    }
    printf("loss %.6f to %.6f in %d steps\n", first, value, done);
    REQUIRE(isfinite(value), "loss %f", value);
    free(input);
    return 0;
}
