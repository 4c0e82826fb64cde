/* SPDX-License-Identifier: Apache-2.0
 *
 * State that the fake driver's files share. Every object is in one list with a number that is never
 * reused, so that use after destruction is detected. Threads: callers hold the lock, which
 * FAKE_CALL takes.
 */
#ifndef TEST_LIB_DRIVER_FAKE_STATE_H
#define TEST_LIB_DRIVER_FAKE_STATE_H

#include <pthread.h>

#include "test/lib/driver/fake.h"

enum object_kind {
    OBJECT_RESERVATION,
    OBJECT_MEMORY, /* from cuMemCreate */
    OBJECT_MAP,
    OBJECT_REGISTRATION,
    OBJECT_PINNED,
    OBJECT_STREAM,
    OBJECT_EVENT,
    OBJECT_MODULE,
    OBJECT_LIBRARY,
    OBJECT_LINK,
    OBJECT_FUNC,
    OBJECT_GLOBAL,
    OBJECT_GREEN,
    OBJECT_ARRAY, /* an array, or a level of the mipmapped array that owns it */
    OBJECT_MIPMAPPED,
    OBJECT_TEXTURE,   /* texture or surface (index); its owner is the array */
    OBJECT_REFERENCE, /* texture or surface reference; its owner is the module */
};

/* Indices into an array's params: its level within the owner, and a flag that kernels may write it.
 */
enum { FAKE_LEVEL = 3, FAKE_STORED = 6 };

/* The time at which an event is reached. The event and its waiters hold the mark. */
struct mark {
    uint32_t holders;
    bool reached;
    uint64_t ns; /* time of the device's clock */
};

/* Returns 0, or the error that ends the context. */
typedef CUresult (*fake_kernel)(const unsigned char *params);

struct item {
    struct item *next;
    enum fake_kind kind;
    /* copies and fills; for a written value: dst and value */
    uint64_t dst, src, width, rows, dst_pitch, src_pitch;
    uint64_t value;
    uint32_t element; /* bytes of a fill's element */
    struct mark *mark;
    fake_kernel kernel;
    unsigned char params[256];
};

struct object {
    struct object *next;
    enum object_kind kind;
    uint64_t id, addr, bytes;
    /* owner: the library of a module; the module of functions, variables and references; the
     * mipmapped array of a level; the array of a texture; the green context of a stream */
    struct object *owner;
    uint32_t sms;               /* green context: its multiprocessors */
    int fd, index, priority;    /* memory: fd; streams: index, priority */
    bool untimed;               /* event: without a time */
    bool allowed;               /* map: cuMemSetAccess was called */
    struct item *first, **last; /* stream: its items */
    struct mark *mark;          /* event: its latest record */
    char name[64];              /* function, variable or reference */
    struct object *reads;       /* reference: the array it reads; NULL: memory or nothing */
    struct fake_texture told;   /* reference: the settings it was given */
    fake_kernel kernel;
    uint32_t params[16], param_count;
    uint32_t words; /* function: number of further parameters of 4 bytes, packed */
    int shared_allowed, shared_bytes;
};

struct fake_state {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something was queued, or has run */
    struct fake_options options;
    struct object *objects;
    uint64_t last_id;
    int stream_count;
    bool initialised, running;
    pthread_t engine;
    bool engine_runs;
    uint32_t retained;
    uint64_t generation; /* generation of the context */
    CUresult fatal;
    char misuse[256];
    struct fake_launch last_launch;
    struct fake_texture last_texture;
    struct tensor_ask last_tensor;
    struct fake_ran ran[4096];
    uint32_t ran_count;
    uint64_t random;
    uint64_t clock_ns; /* 0: the fake's own clock */
    uint32_t calls;
};

extern struct fake_state fake;

int fake_lock(void);
void fake_unlock(const int *guard);
/* Returns 0, or the error that the call must return at once. */
CUresult fake_enter(const char *call, bool needs_context);
/* Records the misuse and returns `result`. */
CUresult fake_misuse(CUresult result, const char *call, const char *what);

#define FAKE_GUARD __attribute__((cleanup(fake_unlock), unused)) const int guard = fake_lock()
#define FAKE_CALL(needs_context)                            \
    FAKE_GUARD;                                             \
    CUresult refusal = fake_enter(__func__, needs_context); \
    if (refusal) return refusal
#define FAKE_MISUSE(result, what) fake_misuse(result, __func__, what)

struct object *fake_object_new(enum object_kind kind, uint64_t addr, uint64_t bytes);
/* Returns NULL if there is no such object or it was destroyed. */
struct object *fake_object(enum object_kind kind, const void *id);
/* Returns the object whose range contains [addr, addr + bytes). */
struct object *fake_object_at(enum object_kind kind, uint64_t addr, uint64_t bytes);
bool fake_object_overlaps(enum object_kind kind, uint64_t addr, uint64_t bytes);
void fake_object_free(struct object *o);

/* Returns true if kernels may read and write the whole range; copies may access host memory too. */
bool fake_memory_reached(uint64_t addr, uint64_t bytes, bool by_copy);
void fake_memory_forget(struct object *o);
void fake_array_forget(struct object *o);
struct object *fake_module_named(enum object_kind kind, const struct object *module,
                                 const char *name);
void fake_stream_forget(struct object *o);
void fake_stream_engine_stop(void);
void fake_stream_run(void);
bool fake_stream_step(uint32_t index);
/* `green`: the green context that owns the stream; NULL: the device's. */
CUresult fake_stream_make(CUstream *out, struct object *green, unsigned int flags, int priority,
                          const char *call);
CUresult fake_stream_add(CUstream stream, const struct item *model, const char *call);
/* Returns NULL when there is no kernel of this name. */
fake_kernel fake_kernel_find(const char *name);

#endif
