/* SPDX-License-Identifier: Apache-2.0
 *
 * The device seam: all operations of a GPU that the worker uses. A backend is a table of operations
 * (struct dev_ops): a core that each has, and optional interfaces with headers of their own
 * (device_recovery.h and others). docs/architecture.md says what a new one needs. The backends are
 * a static table of names; the configuration or SALUS_DEVICE chooses one, and only `cuda` and
 * `soft` are ever chosen by default.
 *
 * Spaces: each client has an address space, which is the windows of wire_windows mapped in the
 * worker; a backend must let no operation of one space touch another's memory. Queues: in-order
 * streams of operations; the worker resolves every dependency across queues itself before it
 * submits.
 *
 * Threads: all calls come from one thread (the worker's), except those marked "background". These
 * may take seconds and come from other threads of the caller, while the worker's thread continues:
 * they read images, or wait for a driver. Only one of them at a time concerns a module, and no
 * other call about that module is made meanwhile. Completions are collected by poll().
 *
 * Errors: 0, -errno or ERR_*.
 */
#ifndef DAEMON_DEVICE_DEVICE_H
#define DAEMON_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda/description.h"

struct dev;        /* an opened device */
struct dev_space;  /* one client's address space on it */
struct dev_module; /* code and variables, loaded into a space */
struct dev_func;   /* a kernel of a module */
struct dev_queue;  /* an in-order stream of a space */
struct dev_chunk;  /* granularity_bytes of physical memory */

/* A part of the device's memory that outlived the process that made it. */
struct dev_kept {
    uint64_t id; /* as chunk_id returns it */
    int fd;
};

/* How the backend learns that the device has completed an operation. */
enum dev_completion {
    DEV_COMPLETION_WORDS,  /* memory fences that the device writes */
    DEV_COMPLETION_EVENTS, /* CUDA events that the backend queries */
    DEV_COMPLETION_AUTO    /* the faster of the two */
};

struct dev_config {
    uint64_t memory_bytes; /* 0: the backend's default */
    uint32_t sm_count;     /* 0: default */
    uint32_t threads;      /* software GPU: worker threads; 0: one for each core */
    uint32_t capability;   /* reported compute capability: 90 for 9.0; 0: default */
    /* Software GPU: a client's results depend only on the order of its operations. They take turns
     * of counted instructions, on one thread of the device at a time for each client. */
    bool deterministic;
    uint64_t kernel_timeout_ns; /* 0: none */
    /* How long a kernel may run on after space_cancel, where only the device's end ends a kernel;
     * 0: for ever. */
    uint64_t cancel_timeout_ns;
    /* Buffer for the reason of a failed open, besides its error; NULL: none. */
    char *why;
    size_t why_bytes;
    const char *driver;    /* cuda: the driver's name for dlopen; NULL: libcuda.so.1 */
    uint32_t index;        /* number among the served GPUs; cuda: also the driver's number, unless
                              device_id is set */
    const char *device_id; /* cuda: the GPU's index, or the beginning of its UUID; NULL: `index` */
    enum dev_completion completion; /* cuda */
    bool completion_each;   /* cuda: a fence or event behind each operation, not behind several */
    bool subgrids;          /* cuda: split best-effort kernels into parts, where possible */
    uint32_t subgrid_waves; /* size of a part, in thousandths of a wave; 0: one wave */
    /* Memory of an earlier opened device, as its memory_fd gave it; it stays the caller's. The
     * bytes stay for chunk_adopt and others until memory_settle. memory_bytes must be that
     * device's, or 0; otherwise, or without such an interface, open returns -EINVAL. 0 or less:
     * none. */
    int memory_fd;
    /* Parts of that memory that are not in memory_fd, with a descriptor each. The descriptors stay
     * the caller's and are needed until open returns. */
    const struct dev_kept *kept;
    uint32_t kept_count;
    /* Called when a part of the device's memory is new. The part outlives this process while a
     * process holds what its descriptor names; `fd` is valid during the call. Runs on the worker's
     * thread, in open and chunk_create. 0: a process holds it; otherwise the part ends with this
     * process. NULL: no part is held. */
    int (*keep)(void *arg, uint64_t id, int fd);
    void *keep_arg;
};

/* As slice_ns: at the end of a wave of a kernel's blocks, unless it is the last. */
#define DEV_WAVES UINT64_MAX

struct dev_info {
    char name[64];
    uint8_t uuid[16];
    bool has_index;
    uint32_t index; /* number in its driver, if it has one */
    uint64_t memory_bytes, granularity_bytes;
    uint32_t sm_count, cc_major, cc_minor;
    uint32_t threads_per_sm, blocks_per_sm, regs_per_sm, shared_per_sm_bytes;
    uint32_t shared_per_block_bytes, shared_optin_bytes, shared_reserved_bytes;
    uint32_t clock_khz, mem_clock_khz, mem_bus_bits, l2_bytes;
    uint32_t levels; /* levels of queue_level; 1: no levels */
    /* time within which queue_still takes effect, or DEV_WAVES; 0: it has none */
    uint64_t slice_ns;
    /* The compute capability that NVIDIA's libraries are told (130 for 13.0), because they use
     * their PTX only on devices that they do not know. 0: the real one. */
    uint32_t library_capability;
    bool runs_code;   /* machine code, not only PTX */
    bool open_memory; /* kernels of a space may reach the memory of others */
    bool plain;       /* kernels neither launch, change, nor choose graphs of the worker */
    bool arrays;      /* has arrays of its own: dev_ops.arrays. Otherwise arrays are memory of the
                         windows */
    bool maps;        /* writes tensor maps itself: dev_ops.native */
    bool clusters;    /* dev_ops.native counts clusters: no other figures tell how many it holds */
    uint32_t share_sms; /* step of queue_share in multiprocessors; 0: any number */
    bool whole;         /* queue_share has no effect: kernels may use all multiprocessors */
    bool in_order; /* deterministic: a client's operations must be submitted in its order, each when
                      all before it are complete or stalled */
    bool coarse;   /* times are those of noticing completion, except where dev_op.timed asks */
    bool host_hidden; /* hides the host window, but for its start, until host_show */
    /* The roofline of the GPU that the device reports to be, at its peak: thread instructions and
     * bytes of global memory per second. On the software GPU, its threads do not reach these. 0:
     * unknown. */
    uint64_t insts_s, bytes_s;
};

/* Addresses of a client, equal in both processes. The caller has already mapped `host_*`. */
struct dev_windows {
    uint64_t dev_base, alloc_bytes, module_bytes;
    uint64_t host_base, host_bytes;
    uint64_t managed_bytes; /* the last part of host_bytes, for the backend's managed variables */
};

struct dev_param {
    uint32_t offset, bytes;
};

/* Uses of CUDA's device runtime by a kernel. */
#define DEV_LAUNCHES_KERNELS 1u /* and anything else except graphs */
#define DEV_LAUNCHES_GRAPHS 2u
#define DEV_CALLS_PRINTF 4u /* it may, or the kernels that it launches may */
#define DEV_CALLS_MALLOC 8u

struct dev_func_info {
    const struct dev_param *params; /* owned by the module */
    uint32_t param_count, param_bytes;
    uint32_t regs, shared_bytes, local_bytes, const_bytes, max_threads;
    uint32_t ptx_version, binary_version;
    uint32_t req_block[3];
    uint32_t req_cluster[3]; /* size of a cluster in blocks; zeros: any */
    uint32_t max_cluster;    /* 0: any */
    int must_cluster;        /* launches must give the cluster size */
    uint32_t launches;       /* DEV_LAUNCHES_*, DEV_CALLS_* */
};

/* An operation in flight. Embedded in the worker's own; the backend fills the result. */
struct dev_op {
    struct dev_op *next; /* the backend's, while in flight; then links poll's list */
    int result;          /* 0 or ERR_* once complete */
    /* Set before submission: the times below must be the device's own, even if that costs calls.
     * After completion: whether they are. Meaningless unless info.coarse. */
    bool timed;
    /* Set before submission: its completion must be noticed at once, not with that of operations
     * behind it. */
    bool exact;
    /* Set before submission: the time that it is expected to take; 0: unknown. */
    uint64_t expected_ns;
    /* For an operation that ends because the device is lost. `begun`: it may have begun.
     * `suspects`: if it is a kernel that may have caused the loss, the number of such kernels. */
    bool begun;
    uint16_t suspects;
    /* CLOCK_MONOTONIC. start_ns: the device began the operation; this is not when it was submitted
     * or came to the head of its queue. end_ns: the device completed it. It may have been suspended
     * in between. */
    uint64_t start_ns, end_ns;
    uint64_t busy_ns; /* device time used: half of the device for 2 ns is 1 ns */
    /* For a launch, summed over the grid, and independent of how it was run; 0: not counted.
     * Instructions of each thread, without those whose guard was false. Traffic of global memory as
     * profilers count it: 32 bytes for each sector that an instruction's lanes of a warp touch. */
    uint64_t thread_insts, memory_bytes;
    uint64_t fault_addr;  /* with ERR_ILLEGAL_ADDRESS and ERR_MISALIGNED */
    char fault_text[160]; /* description of the fault, for people; may be empty */
};

/* The launch of a graph whose kernels may launch others, as the device sees it. Owned by the
 * worker. */
struct dev_graph {
    uint64_t handle; /* handle of the launched graph, where kernels may launch it; else 0 */
};

/* The kinds of launch by a kernel. */
enum dev_graph_order {
    DEV_GRAPH_TAIL = 1, /* when the kernel's graph, and all graphs that it launched, are complete */
    DEV_GRAPH_FORGET = 2,  /* now; complete before the kernel's graph is */
    DEV_GRAPH_SIBLING = 3, /* now; complete before the parent of the kernel's graph is */
};

struct dev_launch {
    struct dev_func *func;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* blocks in a cluster; zeros: no clusters */
    uint32_t shared_bytes;
    int cooperative;
    const void *params; /* copied by the call */
    uint32_t param_bytes;
    struct dev_graph *graph; /* the graph that it is part of, valid while it runs; NULL: none */
};

struct dev_copy {
    uint64_t dst, src, width_bytes, height, depth;
    uint64_t dst_pitch, src_pitch, dst_slice, src_slice;
    bool from_caller; /* src is the caller's memory, which does not change until this is complete */
};

struct dev_memset {
    uint64_t dst, pitch, width_elems, height;
    uint64_t value; /* fits into elem_bytes: 1, 2, 4 or 8 */
    uint32_t elem_bytes;
};

/* Calls from the backend to a space's owner, on any of the backend's threads. */
struct dev_space_ops {
    /* Output of printf (to_stderr 0) and assert (1) in kernels. */
    void (*text)(void *arg, int to_stderr, const char *text, size_t bytes);
    /* A kernel of `from` launches the graph with this handle, which may have any value; poll's
     * thread is woken afterwards. 0; -EINVAL: no graph can be launched so; -EAGAIN: it launched too
     * many. NULL: kernels cannot launch graphs. */
    int (*graph)(void *arg, struct dev_graph *from, uint64_t handle, enum dev_graph_order how);
};

struct dev_recovery_ops;
struct dev_spares_ops;
struct dev_variables_ops;
struct dev_retirement_ops;
struct dev_textures_ops;
struct dev_arrays_ops;
struct dev_native_ops;
struct dev_host_ops;
struct dev_driver_ops;
struct dev_shares_ops;
struct dev_null_mode_ops;
struct dev_settings_ops;
struct dev_inflight_ops;

/* A backend. Every backend has all operations of the core. Each interface after the core is
 * optional as a whole: NULL where the device lacks it, else complete. The interface's header says
 * when it may be absent and what the worker does then. Operations that run for every launch, copy
 * or completion belong to the core, because an interface costs one more load. */
struct dev_ops {
    const char *name; /* the name in the configuration */

    /* ---- the device -------------------------------------------------------------------------- */

    int (*open)(struct dev **out, const struct dev_config *config);
    void (*close)(struct dev *dev);
    void (*info)(struct dev *dev, struct dev_info *out);
    /* Stores all that a job may ask of the device, as its driver answers it, whether Salus uses it
     * or not. Called once, after open, on the worker's thread. Values that info has too are the
     * same there. The worker ends if description_check refuses the description. */
    void (*describe)(struct dev *dev, struct description *out);

    /* ---- completions ------------------------------------------------------------------------- */

    /* Becomes readable when poll() has completions and was asked to arm(). */
    int (*event_fd)(struct dev *dev);
    /* Completed operations as a list through `next`, in completion order; NULL when none. */
    struct dev_op *(*poll)(struct dev *dev);
    /* The caller is about to sleep on event_fd. Returns 1 when completions are already waiting. */
    int (*arm)(struct dev *dev);

    /* ---- spaces ------------------------------------------------------------------------------ */

    /* windows->dev_base is a wish: a device that places the window elsewhere stores its address. */
    int (*space_create)(struct dev *dev, struct dev_windows *windows,
                        const struct dev_space_ops *ops, void *arg, struct dev_space **out);
    /* Every queue must be idle. Unmaps and frees all that the space owns. */
    void (*space_destroy)(struct dev_space *space);
    /* Cancels the space's work: running kernels end at their next quantum with ERR_CANCELLED, and
     * queued operations complete with ERR_CANCELLED without running. Asynchronous; the completions
     * come by poll(). Reading an image for the space, now or later, may end with ERR_CANCELLED. */
    void (*space_cancel)(struct dev_space *space);

    /* ---- memory ------------------------------------------------------------------------------ */

    /* Physical memory comes in whole chunks of info.granularity_bytes, under the rules of CUDA's
     * virtual memory calls. A mapping begins at a chunk's first byte and covers all of it, it is
     * unmapped as a whole, and a chunk neither grows nor shrinks. Several spaces may map one chunk.
     * chunk_create: zero-filled; ERR_NO_MEMORY when the device is full. */
    int (*chunk_create)(struct dev *dev, struct dev_chunk **out);
    /* The chunk is mapped nowhere. Accepts NULL. */
    void (*chunk_destroy)(struct dev *dev, struct dev_chunk *chunk);
    /* Maps chunks[i] at addr + i * granularity, in the alloc window; the chunks stay the caller's.
     * -EEXIST when any place is taken, with nothing mapped. */
    int (*chunk_map)(struct dev_space *space, uint64_t addr, struct dev_chunk *const *chunks,
                     uint32_t count);
    /* The caller guarantees that no operation of the space is in flight. -ENOENT when any place is
     * not mapped, with nothing unmapped. */
    int (*chunk_unmap)(struct dev_space *space, uint64_t addr, uint32_t count);
    /* Copies whole chunks synchronously; no operation that touches them is in flight. `host`:
     * granularity_bytes. */
    int (*chunk_copy)(struct dev *dev, struct dev_chunk *dst, const struct dev_chunk *src);
    int (*chunk_save)(struct dev *dev, void *host, const struct dev_chunk *chunk);
    int (*chunk_load)(struct dev *dev, struct dev_chunk *chunk, const void *host);
    /* Fills chunks with zeros, whether they are mapped or not. The caller gives few at a time, and
     * waits only for these (a fill on a stream of the backend's own, on hardware). */
    int (*chunk_clear)(struct dev *dev, struct dev_chunk *const *chunks, uint32_t count);
    /* Reads the present value of a cell of the space: 4 or 8 bytes, aligned, in one access, while
     * others may write it. ERR_ILLEGAL_ADDRESS when it is not backed. */
    int (*peek)(struct dev_space *space, uint64_t addr, uint32_t bytes, uint64_t *value);
    /* All physical memory in use: chunks and module memory. */
    uint64_t (*mem_used)(struct dev *dev);

    /* ---- modules ----------------------------------------------------------------------------- */

    /* Background. Makes a module for the space, which does not know of it yet and gives it no
     * memory yet. `image`: fatbin, cubin or PTX, private to the caller, not stored. `capability`:
     * the one for which its PTX is chosen; 0: the space's, or the only one of a device without
     * settings. On failure `why` (>= 256 bytes) says why the image was refused, and NULL is stored.
     */
    int (*module_read)(struct dev_space *space, uint32_t capability, const void *image,
                       size_t bytes, struct dev_module **out, char *why, size_t why_bytes);
    /* Allocates the space's memory that the module's variables and kernels need. On failure the
     * module has none: ERR_NO_MEMORY and others, with `why` as above. */
    int (*module_place)(struct dev_module *module, char *why, size_t why_bytes);
    /* Frees that memory; only module_free may follow. No launch of the module may be in flight. */
    void (*module_remove)(struct dev_module *module);
    /* Background. Frees a module without memory in its space, which may no longer exist. Accepts
     * NULL. */
    void (*module_free)(struct dev_module *module);
    uint32_t (*func_count)(struct dev_module *module);
    const char *(*func_name)(struct dev_module *module, uint32_t index);
    /* Background. ERR_NOT_FOUND; ERR_NO_BINARY for a kernel that has only machine code. Valid until
     * the module is removed. On failure `why` has the reason for people, or is empty. */
    int (*func_get)(struct dev_module *module, const char *name, struct dev_func **out,
                    struct dev_func_info *info, char *why, size_t why_bytes);
    int (*global_get)(struct dev_module *module, const char *name, uint64_t *addr, uint64_t *bytes);
    uint32_t (*global_count)(struct dev_module *module);

    /* ---- queues and operations --------------------------------------------------------------- */

    int (*queue_create)(struct dev_space *space, int priority, struct dev_queue **out);
    /* The queue must be idle. */
    void (*queue_destroy)(struct dev_queue *queue);

    /* Asynchronous. A negative return means that nothing was submitted and `op` will not complete.
     * The caller has validated arguments against the windows and the function's limits. The backend
     * must still catch accesses to memory of the windows that is not backed (ERR_ILLEGAL_ADDRESS).
     */
    int (*launch)(struct dev_queue *queue, const struct dev_launch *launch, struct dev_op *op);
    int (*copy)(struct dev_queue *queue, const struct dev_copy *copy, struct dev_op *op);
    int (*memset)(struct dev_queue *queue, const struct dev_memset *set, struct dev_op *op);

    /* ---- optional interfaces ----------------------------------------------------------------- */

    const struct dev_recovery_ops *recovery;     /* memory that outlives the process */
    const struct dev_spares_ops *spares;         /* host memory that outlives the process */
    const struct dev_variables_ops *variables;   /* variables in savepoints */
    const struct dev_retirement_ops *retirement; /* chunks outside the device, without a copy */
    const struct dev_textures_ops *textures;     /* textures and surfaces */
    const struct dev_arrays_ops *arrays;         /* arrays of the device's own */
    const struct dev_native_ops *native;         /* tensor maps and count of clusters of its own */
    const struct dev_host_ops *host;             /* files behind registered memory */
    const struct dev_driver_ops *driver;         /* a device that is reached through a driver */
    const struct dev_shares_ops *shares;         /* levels, shares and preemption of queues */
    const struct dev_null_mode_ops *null_mode;   /* kernels that take time and compute nothing */
    const struct dev_settings_ops *settings;     /* a capability and limits for each space */
    const struct dev_inflight_ops *inflight;     /* state of operations in flight */
};

extern const struct dev_ops dev_soft;
extern const struct dev_ops dev_cuda;

/* NULL when there is no such backend; a NULL name gives the default. */
const struct dev_ops *device_find(const char *name);

#endif
