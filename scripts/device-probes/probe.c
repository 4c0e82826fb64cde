/* SPDX-License-Identifier: Apache-2.0 */
#include "scripts/device-probes/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { FIGURES = 400 };

struct figure {
    char name[80], unit[16], text[160];
    double value;
};

static struct {
    const char *name, *question;
    struct figure figures[FIGURES];
    int count;
    bool forked;
} state;

struct probe_driver cu;

/* ---- the driver ------------------------------------------------------------------------------ */

static CUresult lacking(void) {
    return CUDA_ERROR_NOT_FOUND;
}

void probe_driver_load(void) {
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        exit(probe_end(false, "cannot be asked: there is no libcuda.so.1"));
    }
#define FIND(call)                                       \
    *(void **)&cu.call = dlsym(lib, #call);              \
    if (!cu.call) {                                      \
        fprintf(stderr, "the driver lacks %s\n", #call); \
        cu.call = (__typeof__(cu.call))(void *)lacking;  \
    }
    PROBE_CALLS(FIND)
#undef FIND
}

void probe_driver_open(void) {
    CUdevice dev;
    CUcontext ctx;
    probe_driver_load();
    TRY(cu.cuInit(0));
    TRY(cu.cuDeviceGet(&dev, 0));
    TRY(cu.cuDevicePrimaryCtxRetain(&ctx, dev));
    TRY(cu.cuCtxSetCurrent(ctx));
}

const char *probe_error(CUresult r) {
    static _Thread_local char number[32];
    const char *name = NULL;
    if (cu.cuGetErrorName && cu.cuGetErrorName(r, &name) == CUDA_SUCCESS && name) return name;
    snprintf(number, sizeof(number), "error %d", (int)r);
    return number;
}

void probe_try(CUresult r, const char *what, const char *file, int line) {
    if (r == CUDA_SUCCESS) return;
    fprintf(stderr, "%s:%d: %s: %s (%d)\n", file, line, what, probe_error(r), (int)r);
    if (state.forked) _exit(9);
    exit(probe_end(false, "%s: %.*s gives %s (%d)",
                   r == CUDA_ERROR_NOT_SUPPORTED || r == CUDA_ERROR_NOT_FOUND ? "cannot be asked"
                                                                              : "failed",
                   (int)strcspn(what, "("), what, probe_error(r), (int)r));
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* i: the thread's index in the grid; s: the number of threads in it. */
#define INDEX                                                       \
    "mov.u32 x, %ctaid.x; mov.u32 y, %ntid.x; mov.u32 z, %tid.x;\n" \
    "mad.lo.u32 x, x, y, z; cvt.u64.u32 i, x;\n"                    \
    "mov.u32 x, %nctaid.x; mul.lo.u32 x, x, y; cvt.u64.u32 s, x;\n"
#define REGS \
    ".reg .u32 x, y, z, v, w, h, c, k, m;\n.reg .u64 i, s, p, n, a, b, t, u;\n.reg .pred q;\n"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
/* Kernels without state that ends with the context. */
#define WORK                                                                                       \
    ".visible .entry nothing(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3,\n"    \
    "    .param .u64 p4, .param .u64 p5, .param .u64 p6, .param .u64 p7) { ret; }\n"               \
    ".visible .entry fill(.param .u64 pp, .param .u64 pn, .param .u32 ps) {\n" REGS                \
    "ld.param.u64 p, [pp]; ld.param.u64 n, [pn]; ld.param.u32 h, [ps];\n" INDEX                    \
    "FL: setp.ge.u64 q, i, n; @q bra FE;\n"                                                        \
    "cvt.u32.u64 v, i; mad.lo.u32 v, v, 0x9E3779B1, h; shl.b64 a, i, 2; add.u64 a, p, a;\n"        \
    "st.global.u32 [a], v; add.u64 i, i, s; bra FL; FE: ret; }\n"                                  \
    ".visible .entry check(.param .u64 pp, .param .u64 pn, .param .u32 ps, .param .u64 pw) "       \
    "{\n" REGS                                                                                     \
    "ld.param.u64 p, [pp]; ld.param.u64 n, [pn]; ld.param.u32 h, [ps]; ld.param.u64 b, "           \
    "[pw];\n" INDEX "CL: setp.ge.u64 q, i, n; @q bra CE;\n"                                        \
    "cvt.u32.u64 v, i; mad.lo.u32 v, v, 0x9E3779B1, h; shl.b64 a, i, 2; add.u64 a, p, a;\n"        \
    "ld.global.u32 w, [a]; add.u64 i, i, s; setp.eq.u32 q, v, w; @q bra CL;\n"                     \
    "atom.global.add.u64 t, [b], 1; bra CL; CE: ret; }\n"                                          \
    ".visible .entry spin(.param .u64 pf, .param .u64 ps, .param .u64 pl) {\n" REGS                \
    "ld.param.u64 p, [pf]; ld.param.u64 a, [ps]; ld.param.u64 n, [pl]; mov.u64 t, %globaltimer;\n" \
    "st.volatile.global.u32 [a], 1; membar.sys;\n"                                                 \
    "SL: ld.volatile.global.u32 v, [p]; setp.ne.u32 q, v, 0; @q bra SE;\n"                         \
    "mov.u64 u, %globaltimer; sub.u64 u, u, t; setp.lt.u64 q, u, n; @q bra SL; SE: ret; }\n"       \
    ".visible .entry endless(.param .u64 pp) {\n" REGS "ld.param.u64 p, [pp];\n"                   \
    "EL: ld.volatile.global.u32 v, [p]; setp.ne.u32 q, v, 0xffffffff; @q bra EL; ret; }\n"         \
    ".visible .entry stray(.param .u64 pp) {\n" REGS                                               \
    "ld.param.u64 p, [pp]; st.global.u32 [p], 1; ret; }\n"                                         \
    ".visible .entry bump(.param .u64 pp) {\n" REGS "ld.param.u64 p, [pp]; mov.u32 x, %tid.x;\n"   \
    "setp.ne.u32 q, x, 0; @q bra BE; mov.u32 x, %ctaid.x; setp.ne.u32 q, x, 0; @q bra BE;\n"       \
    "ld.global.u32 v, [p]; add.u32 v, v, 1; st.global.u32 [p], v; BE: ret; }\n"                    \
    ".visible .entry burn(.param .u64 pp, .param .u32 pr) {\n" REGS ".reg .f32 f, g;\n"            \
    "ld.param.u64 p, [pp]; ld.param.u32 k, [pr];\n" INDEX                                          \
    "cvt.rn.f32.u32 f, z; mov.f32 g, 0f3F7FBE77; mov.u32 c, 0;\n" /* about 0.999 */                \
    "UL: setp.ge.u32 q, c, k; @q bra UE;\n"                                                        \
    "fma.rn.f32 f, f, g, 0f3F000000; fma.rn.f32 f, f, g, 0f3E800000;\n"                            \
    "fma.rn.f32 f, f, g, 0f3F000000; fma.rn.f32 f, f, g, 0f3E800000;\n"                            \
    "add.u32 c, c, 1; bra UL;\n"                                                                   \
    "UE: shl.b64 a, i, 2; add.u64 a, p, a; st.global.f32 [a], f; ret; }\n"                         \
    ".visible .entry where(.param .u64 pp) {\n" REGS                                               \
    "ld.param.u64 p, [pp]; mov.u32 x, %smid; mul.wide.u32 a, x, 4; add.u64 a, p, a;\n"             \
    "st.global.u32 [a], 1; ret; }\n"                                                               \
    ".visible .entry stamp(.param .u64 pp) {\n" REGS                                               \
    "ld.param.u64 p, [pp]; mov.u32 x, %tid.x; setp.ne.u32 q, x, 0; @q bra PE;\n"                   \
    "mov.u64 t, %globaltimer; st.global.u64 [p], t; PE: ret; }\n"                                  \
    ".visible .entry stir(.param .u64 pp, .param .u64 pn, .param .u32 pr, .param .u32 ps) "        \
    "{\n" REGS                                                                                     \
    "ld.param.u64 p, [pp]; ld.param.u64 n, [pn]; ld.param.u32 k, [pr]; ld.param.u32 h, "           \
    "[ps];\n" INDEX "TL: setp.ge.u64 q, i, n; @q bra TE;\n"                                        \
    "shl.b64 a, i, 2; add.u64 a, p, a; ld.global.u32 v, [a]; xor.b32 v, v, h; mov.u32 c, 0;\n"     \
    "TR: setp.ge.u32 q, c, k; @q bra TS;\n"                                                        \
    "shr.u32 w, v, 15; xor.b32 v, v, w; mad.lo.u32 v, v, 0x85EBCA77, c; add.u32 c, c, 1; bra "     \
    "TR;\n"                                                                                        \
    "TS: st.global.u32 [a], v; add.u64 i, i, s; bra TL; TE: ret; }\n"                              \
    ".visible .entry fold(.param .u64 po, .param .u64 pp, .param .u64 pn) {\n" REGS                \
    "ld.param.u64 b, [po]; ld.param.u64 p, [pp]; ld.param.u64 n, [pn]; mov.u64 u, 0;\n" INDEX      \
    "DL: setp.ge.u64 q, i, n; @q bra DE;\n"                                                        \
    "shl.b64 a, i, 2; add.u64 a, p, a; ld.global.u32 v, [a]; cvt.u64.u32 t, v;\n"                  \
    "shl.b64 a, i, 1; or.b64 a, a, 1; mad.lo.u64 u, t, a, u; add.u64 i, i, s; bra DL;\n"           \
    "DE: red.global.add.u64 [b], u; ret; }\n"
/* A kernel that writes a variable, and one that prints. */
#define MORE                                                                                  \
    ".visible .global .align 8 .u64 probe_variable = 7;\n"                                    \
    ".extern .func (.param .b32 ret) vprintf (.param .b64 format, .param .b64 list);\n"       \
    ".global .align 1 .b8 said[9] = {115, 97, 105, 100, 32, 37, 117, 10, 0};\n"               \
    ".visible .entry count(.param .u64 pp) {\n" REGS                                          \
    "ld.param.u64 p, [pp]; ld.global.u64 a, [probe_variable]; add.u64 a, a, 1;\n"             \
    "st.global.u64 [probe_variable], a; st.global.u64 [p], a; ret; }\n"                       \
    ".visible .entry say(.param .u32 pn) {\n" REGS ".local .align 8 .b8 list[8];\n"           \
    "ld.param.u32 v, [pn]; mov.u32 x, %tid.x; setp.ne.u32 q, x, 0; @q bra YE;\n"              \
    "mov.u64 a, list; st.local.u32 [a], v; cvta.local.u64 a, a;\n"                            \
    "mov.u64 b, said; cvta.global.u64 b, b;\n"                                                \
    "{ .param .b64 one; .param .b64 two; .param .b32 back;\n"                                 \
    "st.param.b64 [one], b; st.param.b64 [two], a; call.uni (back), vprintf, (one, two); }\n" \
    "YE: ret; }\n"

const char probe_ptx[] = HEAD MORE WORK;
static const char work_ptx[] = HEAD WORK;

CUmodule probe_module(void) {
    CUmodule m;
    TRY(cu.cuModuleLoadData(&m, probe_ptx));
    return m;
}

CUmodule probe_work(void) {
    CUmodule m;
    TRY(cu.cuModuleLoadData(&m, work_ptx));
    return m;
}

CUfunction probe_function(CUmodule module, const char *name) {
    CUfunction f;
    TRY(cu.cuModuleGetFunction(&f, module, name));
    return f;
}

CUresult probe_launch_values(CUfunction f, unsigned blocks, unsigned threads, CUstream stream,
                             const uint64_t *values) {
    void *params[PROBE_PARAMS];
    for (int i = 0; i < PROBE_PARAMS; i++) /* the driver ignores those beyond the kernel's last
                                            * parameter */
        params[i] = (void *)&values[i];
    return cu.cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL);
}

void probe_try_launch(CUfunction f, unsigned blocks, unsigned threads, CUstream stream,
                      const uint64_t *values, const char *file, int line) {
    probe_try(probe_launch_values(f, blocks, threads, stream, values), "cuLaunchKernel(", file,
              line);
}

/* ---- device memory with a descriptor --------------------------------------------------------- */

static CUmemAllocationProp properties(void) {
    CUmemAllocationProp prop = {0};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return prop;
}

size_t probe_granule(void) {
    CUmemAllocationProp prop = properties();
    size_t bytes;
    TRY(cu.cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return bytes;
}

CUmemGenericAllocationHandle probe_chunk(size_t bytes) {
    CUmemAllocationProp prop = properties();
    CUmemGenericAllocationHandle chunk;
    TRY(cu.cuMemCreate(&chunk, bytes, &prop, 0));
    return chunk;
}

int probe_export(CUmemGenericAllocationHandle chunk) {
    int fd;
    TRY(cu.cuMemExportToShareableHandle(&fd, chunk, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return fd;
}

CUmemGenericAllocationHandle probe_import(int fd) {
    CUmemGenericAllocationHandle chunk;
    TRY(cu.cuMemImportFromShareableHandle(&chunk, (void *)(intptr_t)fd,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    return chunk;
}

void probe_map(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle chunk) {
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    TRY(cu.cuMemMap(at, bytes, 0, chunk, 0));
    TRY(cu.cuMemSetAccess(at, bytes, &access, 1));
}

/* ---- other processes ------------------------------------------------------------------------- */

struct probe_child probe_fork(void (*body)(int peer, void *arg), void *arg) {
    int pair[2];
    struct probe_child c = {-1, -1};
    fflush(stdout);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || (c.pid = fork()) < 0)
        exit(probe_end(false, "cannot be asked: no process: %s", strerror(errno)));
    if (c.pid == 0) {
        state.forked = true;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a child with an endless kernel must not outlive the
                                           * probe */
        close(pair[0]);
        body(pair[1], arg);
        _exit(0);
    }
    close(pair[1]);
    c.peer = pair[0];
    return c;
}

int probe_join(struct probe_child *c, double seconds) {
    uint64_t end = probe_now_ns() + (uint64_t)(seconds * 1e9);
    int status, late = 0;
    pid_t got;
    while ((got = waitpid(c->pid, &status, WNOHANG)) == 0) {
        if (probe_now_ns() > end && !late++) {
            kill(c->pid, SIGKILL);
            end += 20000000000ull; /* leaves a process behind that SIGKILL does not end */
        } else if (late && probe_now_ns() > end) {
            return -1;
        }
        probe_sleep_ms(1);
    }
    close(c->peer);
    if (late || got < 0) return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void gone(void) {
    if (state.forked) _exit(8);
    exit(probe_end(false, "failed: the other process ended early"));
}

void probe_tell(int peer, uint64_t word) {
    if (send(peer, &word, sizeof(word), MSG_NOSIGNAL) != sizeof(word)) gone();
}

uint64_t probe_hear(int peer) {
    uint64_t word;
    if (recv(peer, &word, sizeof(word), MSG_WAITALL) != sizeof(word)) gone();
    return word;
}

bool probe_hear_within(int peer, uint64_t *word, double seconds) {
    struct pollfd p = {peer, POLLIN, 0};
    return poll(&p, 1, (int)(seconds * 1000)) == 1 &&
           recv(peer, word, sizeof(*word), MSG_WAITALL) == sizeof(*word);
}

/* A message of one byte with a descriptor. */
static struct msghdr one_fd(struct iovec *iov, char *room, size_t bytes) {
    struct msghdr msg = {0};
    msg.msg_iov = iov;
    msg.msg_iovlen = 1;
    msg.msg_control = room;
    msg.msg_controllen = bytes;
    return msg;
}

void probe_give_fd(int peer, int fd) {
    char byte = 0, room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
    struct iovec iov = {&byte, 1};
    struct msghdr msg = one_fd(&iov, room, sizeof(room));
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    if (sendmsg(peer, &msg, MSG_NOSIGNAL) != 1) gone();
}

int probe_take_fd(int peer) {
    char byte, room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
    struct iovec iov = {&byte, 1};
    struct msghdr msg = one_fd(&iov, room, sizeof(room));
    int fd;
    if (recvmsg(peer, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg)) gone();
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
    return fd;
}

/* ---- output ---------------------------------------------------------------------------------- */

void probe_begin(const char *name, const char *question) {
    state.name = name;
    state.question = question;
}

bool probe_small(void) {
    const char *s = getenv("PROBE_SMALL");
    return s && strcmp(s, "1") == 0;
}

static struct figure *next_figure(void) {
    struct figure *f = &state.figures[state.count < FIGURES - 1 ? state.count++ : FIGURES - 1];
    memset(f, 0, sizeof(*f));
    return f;
}

void probe_figure(double value, const char *unit, const char *name, ...) {
    struct figure *f = next_figure();
    va_list args;
    va_start(args, name);
    vsnprintf(f->name, sizeof(f->name), name, args);
    va_end(args);
    snprintf(f->unit, sizeof(f->unit), "%s", unit);
    f->value = value;
    fprintf(stderr, "figure %s %.12g %s\n", f->name, value, unit);
}

void probe_fact(const char *name, const char *text, ...) {
    struct figure *f = next_figure();
    va_list args;
    va_start(args, text);
    vsnprintf(f->text, sizeof(f->text), text, args);
    va_end(args);
    snprintf(f->name, sizeof(f->name), "%s", name);
    fprintf(stderr, "fact %s %s\n", f->name, f->text);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void probe_spread(double *values, int n, const char *unit, const char *name) {
    if (n == 0) return;
    qsort(values, n, sizeof(*values), ascending);
    probe_figure(values[0], unit, "%s_min", name);
    probe_figure(values[n / 2], unit, "%s_median", name);
    probe_figure(values[n - 1], unit, "%s_max", name);
}

static void put_text(const char *s) {
    putchar('"');
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            printf("\\u%04x", *s);
        else
            putchar(*s);
    putchar('"');
}

static void put_figure(const struct figure *f) {
    put_text(f->name);
    printf(": ");
    if (f->unit[0]) {
        if (isfinite(f->value))
            printf("{\"value\": %.12g, \"unit\": ", f->value);
        else
            printf("{\"value\": null, \"unit\": "); /* JSON has no infinity */
        put_text(f->unit);
        putchar('}');
    } else {
        put_text(f->text);
    }
}

int probe_end(bool ok, const char *answer, ...) {
    char text[512];
    va_list args;
    va_start(args, answer);
    vsnprintf(text, sizeof(text), answer, args);
    va_end(args);
    printf("{\"probe\": ");
    put_text(state.name);
    printf(", \"question\": ");
    put_text(state.question);
    printf(", \"answer\": ");
    put_text(text);
    printf(", \"figures\": {");
    for (int i = 0; i < state.count; i++) {
        printf(i ? ", " : "");
        put_figure(&state.figures[i]);
    }
    printf("}, \"ok\": %s}\n", ok ? "true" : "false");
    fflush(stdout);
    return ok ? 0 : 1;
}

uint64_t probe_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

void probe_sleep_ms(double ms) {
    struct timespec t = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (time_t)(ms / 1e3)) * 1e6)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        continue;
}
