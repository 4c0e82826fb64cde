/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that crosses a process boundary: the handshake messages, the layout of the shared
 * pages, and the records of the submission ring. Little-endian, fixed width, no pointers. Numbers
 * are never reused.
 *
 * Sockets are SOCK_SEQPACKET: one struct is one message.
 *   client -> broker: wire_hello; broker -> client: wire_offer (+ fds) or a refusal;
 *   client -> broker: wire_answer; broker -> client: wire_welcome. Then wire_command and
 *   wire_file from the client, wire_moved from the broker; closing ends the session.
 *   any process -> broker: wire_question; broker -> it: wire_view or a refusal, and the end.
 *   `salusctl run` -> broker: wire_exit; broker -> it: the end.
 *   broker <-> worker: wire_worker_msg, kernel_wire_batch (kernel_wire.h), wire_part.
 */
#ifndef PROTO_WIRE_WIRE_H
#define PROTO_WIRE_WIRE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/policy/policy_config.h"
#include "proto/cuda/description.h"
#include "proto/cuda/tensor_map.h"
#include "proto/wire/ring.h"

#define WIRE_MAGIC 0x554c4153u /* "SALU" */
#define WIRE_MAJOR 1
#define WIRE_MINOR 9

/* ---- handshake ------------------------------------------------------------------------------- */

/* A job's request and properties, from SALUS_* variables, which `salusctl run` sets. Zero: not
 * given. */
struct wire_job {
    uint64_t persistent_bytes, ephemeral_bytes; /* given with WIRE_JOB_RESERVED */
    uint16_t flags;
    uint16_t capability; /* compute capability that the device reports to the job: 90 for 9.0 */
    uint32_t weight;
    int32_t priority;
    uint32_t run;                     /* SALUS_RUN: the `salusctl run` that started it */
    uint64_t iterations, duration_ns; /* expected iterations and duration of the whole job */
    uint64_t request_ns;              /* latency of a request when the job runs alone */
    uint64_t admit_timeout_ns;
    uint64_t profile; /* hash of the program and its arguments: jobs with equal hashes are alike */
    char group[32];   /* jobs of one group of one user never share a lane */
    /* Latency target of its requests; 0: none. Since 1.8. */
    uint64_t slo_ns;
    uint32_t slo_of; /* enum sched_slo_of: the statistic that the target limits */
    uint32_t pad;
};

#define WIRE_JOB_RESERVED 1u /* persistent_bytes and ephemeral_bytes are given */
#define WIRE_JOB_PAUSED 2u   /* broker -> worker */
/* The job's kernels take time and compute nothing, from hello to the end. */
#define WIRE_JOB_NULL 4u
/* The job's memory is saved at boundaries, for restarts. Since 1.8. */
#define WIRE_JOB_SAVEPOINTS 8u

struct wire_hello {
    uint32_t magic;
    uint16_t major, minor;
    uint64_t spec_hash; /* hash of proto/driver.api; logged, never a reason to refuse */
    int32_t pid;        /* as the client sees itself; the broker trusts only SO_PEERCRED */
    uint32_t gpu;       /* requested GPU, SALUS_GPU + 1; 0: any. Since 1.5 */
    char name[64];      /* name of the job: SALUS_JOB_NAME, else its program or script */
    /* Before 1.8, and without a latency target, the message ends before slo_ns. */
    struct wire_job job;
};

#define WIRE_HELLO_BYTES_1_7 (offsetof(struct wire_hello, job) + offsetof(struct wire_job, slo_ns))

/* Order of the descriptors that travel with wire_offer. */
enum wire_fd {
    WIRE_FD_SUBMISSION,
    WIRE_FD_COMPLETION,
    WIRE_FD_HOST,
    WIRE_FD_DOORBELL,
    WIRE_FD_COUNT
};

/* A pair of address windows, at the same addresses in the client and in the worker. */
struct wire_windows {
    uint64_t dev_base;    /* device memory; PROT_NONE in the client */
    uint64_t alloc_bytes; /* first part of it: the client chooses addresses */
    /* The rest: the worker chooses addresses (module variables, device heap). */
    uint64_t module_bytes;
    uint64_t host_base; /* pinned memory and staging, readable and writable on both sides */
    uint64_t host_bytes;
};

/* The worker allocates the last part of the host window: variables of modules that the program
 * declares __managed__, so that both sides reach them by name. Whole pages of 2 MiB. */
#define WIRE_MANAGED_BYTES(host_bytes) ((host_bytes) / 64 & ~(uint64_t)0x1fffff)

/* The alloc part of the device window is two windows (Salus, section 3.2.1): the first half for
 * memory that outlives iterations, the second for memory that does not. Jobs of a lane see the same
 * physical memory in their second halves. */
#define WIRE_EPHEMERAL_OFFSET(alloc_bytes) ((alloc_bytes) / 2)

#define WIRE_DEVICE_CODE 1u /* the device runs machine code */
/* The device sees only those parts of the host window that HOST_SHOW named. */
#define WIRE_DEVICE_HOST 2u
#define WIRE_DEVICE_PLAIN 4u /* kernels cannot launch, change or control graphs */
/* The device lays out arrays itself: ARRAY_MAKE announces each, and the answer to TEXTURE is the
 * handle that kernels get for a texture or surface. Otherwise an array is the client's memory. */
#define WIRE_DEVICE_ARRAYS 8u
#define WIRE_DEVICE_WHOLE 16u /* the device cannot be partitioned: STREAM_SHARE has no effect */
/* The device makes tensor maps itself: TENSOR_MAP asks for each. Otherwise tensor_map.h defines
 * them. */
#define WIRE_DEVICE_MAPS 32u
#define WIRE_DEVICE_CLUSTERS 64u /* CLUSTERS returns how many it holds; else occupancy does */

/* Properties of the client's device, sent once. */
struct wire_device {
    char name[64];
    uint8_t uuid[16];
    uint64_t memory_bytes;      /* the device's total memory as shown to this job */
    uint64_t granularity_bytes; /* granularity of MEM_BACK */
    uint32_t sm_count, cc_major, cc_minor;
    uint32_t threads_per_sm, blocks_per_sm, regs_per_sm, shared_per_sm_bytes;
    uint32_t shared_per_block_bytes, shared_optin_bytes, shared_reserved_bytes;
    uint32_t clock_khz, mem_clock_khz, mem_bus_bits, l2_bytes;
    /* Capability for NVIDIA's libraries: 130 for 13.0; 0: as for other code. */
    uint32_t library_capability;
    uint32_t flags; /* WIRE_DEVICE_* */
    /* As in the description, for readers that have none: NVML (1.5). */
    uint32_t pci_domain, pci_bus, pci_slot;
    uint32_t gpu;          /* number of the GPU in salusd; jobs see it as device 0. Since 1.5 */
    uint32_t driver_index; /* number of the GPU in its driver, + 1; 0: no driver. Since 1.6 */
    uint32_t reserved;
};

struct wire_offer {
    uint32_t magic;
    uint16_t major, minor;
    int32_t result; /* 0: an offer follows; < 0: refused, `text` has the reason */
    uint32_t job_id;
    uint64_t spec_hash;
    struct wire_windows windows;
    struct wire_device device;
    char text[256];
};

/* accepted: 1: the client reserved both windows. 0: the client has other mappings there; the broker
 * offers other addresses. */
struct wire_answer {
    uint32_t magic;
    uint32_t accepted;
};

struct wire_welcome {
    uint32_t magic;
    int32_t result;
    char text[256];
};

/* ---- files, after the welcome ---------------------------------------------------------------- */

#define WIRE_FILE_MAGIC 0x464c4153u /* "SALF" */
#define WIRE_FILES 128u             /* files of a job; numbers are below this */
#define WIRE_FILE_RANGES 2048u      /* ranges of a job's host window that show files, at a time */
#define WIRE_FILE_PAGE 4096u

/* client -> broker -> worker, with one descriptor: a memfd of the client that cannot shrink. It is
 * `file` in later FILE_MAPs, until FILE_DROP. Answered in replies[reply], like a record with this
 * ticket; the next message is read after the answer. (1.5) */
struct wire_file {
    uint32_t magic;
    uint32_t file; /* an unused number, or a segment */
    uint32_t reply, pad;
    uint64_t ticket;
};

/* The same message with this magic: `file` is a segment of the client, and the descriptor is one
 * end of a pair of SOCK_SEQPACKET sockets. The other end serves as a descriptor of the segment: the
 * segment is kept until that end hangs up. Answered with wire_segment_reply. The client then sends
 * the key through its end, for readers of the other end, and closes it. (1.7) */
#define WIRE_KEEP_MAGIC 0x4b4c4153u /* "SALK" */

/* ---- command lines, exits, and another worker -------------------------------------------------
 */

#define WIRE_COMMAND_MAGIC 0x434c4153u /* "SALC" */
#define WIRE_COMMAND_BYTES 256u
/* The command line of a running client, for display; sent once. Since 1.9. */
struct wire_command {
    uint32_t magic, pad;
    char text[WIRE_COMMAND_BYTES]; /* ends with a NUL */
};

#define WIRE_EXIT_MAGIC 0x584c4153u /* "SALX" */
/* Sent by `salusctl run` instead of a hello: how the command that it started has ended. The history
 * shows this for the jobs of this run, if they belong to the same user. The broker only closes the
 * connection. Since 1.9. */
struct wire_exit {
    uint32_t magic; /* WIRE_EXIT_MAGIC */
    uint16_t major, minor;
    uint32_t run; /* SALUS_RUN */
    uint16_t status;
    uint16_t signal; /* 0: the command ended with an exit status */
};

#define WIRE_MOVED_MAGIC 0x4d4c4153u /* "SALM" */

/* broker -> client, with one descriptor: the completion memfd of the worker that now has the job.
 * It replaces the previous one at the same address, and has the same contents. Sent before
 * wire_submission.moved has the same number, and only to clients whose hello says 1.6 or later. */
struct wire_moved {
    uint32_t magic;
    uint32_t number; /* 1 for the first, then increasing by one */
};

/* ---- questions, instead of a hello --------------------------------------------------------------
 */

#define WIRE_QUESTION_MAGIC 0x3f4c4153u /* "SAL?" */

/* Asks for the state of a GPU without making the sender a job. The GPU is the one of its process's
 * job, else the one that it names, else the first. A refusal is a wire_offer with a negative
 * result, as for a hello. */
struct wire_question {
    uint32_t magic; /* WIRE_QUESTION_MAGIC, also in the answer */
    uint16_t major, minor;
    uint32_t gpu;      /* as in wire_hello. Since 1.5 */
    uint32_t reserved; /* 0 */
};

/* A process of the asking user with a job. */
struct wire_process {
    int32_t pid; /* as the broker sees it */
    uint32_t busy_permille;
    uint64_t memory_bytes; /* backed device memory */
};

#define WIRE_VIEW_PROCESSES 512u

/* State of the GPU. Memory is what the asking process's job can have; without a job, what a new job
 * of its user could have. The share of time is the job's; without a job, that of all jobs of the
 * user. */
struct wire_view {
    uint32_t magic;
    uint16_t major, minor;
    struct wire_device device; /* as for a job of this user */
    uint64_t used_bytes;       /* part of device.memory_bytes that the asker cannot have */
    uint64_t sampled_us;       /* CLOCK_REALTIME: end of the interval of busy_permille; 0: none */
    uint32_t busy_permille;    /* share of the device's time over about a second */
    uint32_t process_count;
    struct wire_process processes[WIRE_VIEW_PROCESSES]; /* process_count of them are sent */
};

/* ---- broker <-> worker ----------------------------------------------------------------------- */

enum wire_worker_kind {
    /* worker -> broker: device opened; `device`, `result`, `text`, `flags`, fds board and, if the
     * device's memory outlives the worker, that memory */
    WIRE_READY = 1,
    WIRE_ATTACH = 2, /* broker -> worker: job, windows, fds submission, host, doorbell; `flags` */
    /* worker -> broker: job, result (-EEXIST: windows collide), fds completion and, if the job
     * could outlive the worker, its recovery state */
    WIRE_ATTACHED = 3,
    /* broker -> worker: the client has gone; cancel, drop, free. `result`: the error that the
     * client got, or 0 if it left by itself */
    WIRE_DETACH = 4,
    WIRE_DETACHED = 5, /* worker -> broker: its memory has been freed */
    WIRE_BEAT = 6,     /* worker -> broker, every second: the worker's loop runs */
    WIRE_EXPELLED = 7, /* worker -> broker: job broke the protocol; end it; `text` has the reason */
    WIRE_SET_JOB = 8,  /* broker -> worker: `job` replaces the properties of job_id; answered */
    WIRE_SET_POLICY = 9, /* broker -> worker: `policy`; answered */
    WIRE_DID = 10,       /* worker -> broker: answer to a SET, in their order; result, text */
    WIRE_REFUSED = 11,   /* worker -> broker: job cannot be admitted; `text` has the reason */
    /* worker -> broker: a kernel_wire_batch (kernel_wire.h) of new kernel profiles */
    WIRE_PROFILES = 12,
    WIRE_KERNELS = 13, /* broker -> worker: known kernel profiles, fd a memfd of kernel_wire.h */
    /* broker -> worker: drop profiles of `uid` (all: UINT32_MAX) named `text` (all: ""); `result`:
     * the number to put into each WIRE_PROFILES from now on */
    WIRE_FORGET = 14,
    WIRE_LIMITS = 15, /* broker -> worker: `limits` of `uid` from now on */
    /* broker -> worker: the scheduler's inputs and decisions go to fd for for_ns; without fd: for
     * this much longer, 0: no longer */
    WIRE_EVENTS = 16,
    WIRE_FILE = 17,  /* broker -> worker: `file` of job_id, fd; without fd: it could not be sent */
    WIRE_FILED = 18, /* worker -> broker: a WIRE_FILE was answered; job_id may send another */
    /* broker -> worker: like ATTACH, for a job that an earlier worker had, at the same windows; fds
     * submission, host, doorbell, completion of that worker, recovery state. Answered by ATTACHED,
     * fd completion; its recovery state is the same */
    WIRE_RESTORE = 19,
    /* broker -> worker, which reads no ring before: no more RESTOREs come, or there were none.
     * ATTACHes of other jobs come afterwards */
    WIRE_RESTORED = 20,
    /* broker -> worker: `file` of job_id is a segment, fd the end to watch; like WIRE_FILE, and
     * answered by WIRE_FILED */
    WIRE_KEEP = 21,
    WIRE_PART = 22, /* worker -> broker: a wire_part, also before READY */
    /* worker -> broker: the device is lost (`result`), and so is the worker. A kernel of job_id is
     * the cause, or 0: unknown; `text` */
    WIRE_BROKE = 23,
    WIRE_BEGIN = 24, /* broker -> worker: the client of job_id has accepted its windows */
    /* worker -> broker: job_id of a RESTORE has repeated its lost work; or `result`: its context
     * ended while doing so, and its page says so */
    WIRE_RESUMED = 25,
};

/* Flag of WIRE_ATTACH: the client may still want other windows, or not answer. The job is not
 * admitted before WIRE_BEGIN, and so holds no memory. */
#define WIRE_ATTACH_HELD 1u

/* Flag of WIRE_READY: the worker continues with the device memory that it was given, and its
 * contents. */
#define WIRE_READY_ADOPTED 1u

/* The broker's own job, by which it tests a new worker before others use it: trial.h. */
#define WIRE_TRIAL_JOB 0xfffffffeu

/* Limits on the jobs of one user together; 0: no limit. */
struct wire_limits {
    uint64_t device_bytes; /* granted to the jobs and their lanes */
    uint64_t operations;   /* accepted and not complete */
};

struct wire_worker_msg {
    uint32_t kind;
    uint32_t job_id;
    int32_t result;
    int32_t pid;
    uint32_t uid;
    uint32_t flags; /* WIRE_READY_*, WIRE_ATTACH_* */
    struct wire_windows windows;
    struct wire_device device;
    char name[64];
    char text[256];
    struct wire_job job;
    uint32_t group; /* number for job.group and uid, chosen by the broker; 0: none */
    uint32_t run;   /* equal for jobs of one user that may wait for one another; 0: none */
    struct policy_config policy;
    struct wire_limits limits; /* limits of uid; with WIRE_ATTACH and WIRE_LIMITS */
    uint64_t for_ns;           /* WIRE_EVENTS */
    struct wire_file file;     /* WIRE_FILE, WIRE_KEEP */
};

/* worker -> broker, with one descriptor: a part of the device's memory, which replaces the part
 * that had this number before. Without a descriptor: the number is free. The next worker gets all
 * parts. */
struct wire_part {
    uint32_t kind; /* WIRE_PART */
    uint32_t reserved;
    uint64_t id; /* below WIRE_PARTS */
};

#define WIRE_PARTS (1u << 20) /* parts of a device's memory, at most */

/* A part as passed to the next worker, which gets a memfd with an array of these and is started
 * with their descriptors. */
struct wire_kept {
    uint64_t id;
    int32_t fd;
    uint32_t reserved;
};

/* ---- board memfd: made by each worker, sent with READY, read-only for the broker ---------------
 */

#define WIRE_LANES 256u

struct wire_lane {
    uint32_t lane, jobs;
    uint32_t holder; /* job id; 0: none */
    uint32_t pad;
    uint64_t bytes, chunk_bytes; /* granted; currently backed by chunks */
    uint64_t switches, busy_ns;
    uint64_t cleared_bytes; /* zeroed between owners */
};

/* Present state of the worker's scheduler. A sequence lock: odd while it is being written. */
struct wire_board {
    _Atomic uint64_t seq;
    struct policy_config policy;
    uint64_t capacity_bytes, granted_bytes; /* C; sum P + sum L */
    uint32_t lane_count, waiting_jobs;
    uint64_t kept_bytes;   /* host memory that only descriptors of programs keep alive */
    uint64_t free_bytes;   /* beyond all reservations: available to a new job */
    uint64_t sm_threshold; /* the value in effect, as searched; 0: the policy has none */
    uint32_t whole;        /* 1: the device cannot limit a job to a part of its multiprocessors */
    struct wire_lane lanes[WIRE_LANES];
};

/* ---- submission memfd: made by the broker, written by the client ------------------------------
 */

struct wire_submission {
    _Atomic uint32_t worker_sleeping
        __attribute__((aligned(64))); /* doorbell flag; both sides write it */
    _Atomic uint32_t client_sleeping
        __attribute__((aligned(64))); /* futex on which a client thread parks */
    /* Set by the broker when the worker is lost (an ERR_* negated), followed by a wake. */
    _Atomic uint32_t lost;
    /* Set by the broker to the number of the last wire_moved, followed by a wake. In the same cache
     * line as `lost`: waiting threads read both. */
    _Atomic uint32_t moved;
    _Atomic uint64_t callbacks_done __attribute__((aligned(64))); /* host functions that returned */
    /* Position up to which the client has printed wire_completion.text. */
    _Atomic uint64_t text_read;
    _Atomic uint32_t used; /* 1: the client made a context, and is listed as a job */
    struct ring_memory ring __attribute__((aligned(4096)));
};

/* ---- completion memfd: made by each worker, read-only for all others. When a job outlives its
 * worker, the next worker makes another memfd, which begins as a copy
 * ------------------------------ */

/* Stream ids are below this; id 0 is the legacy default stream. Before 1.9 stream ids were below
 * WIRE_STREAMS_FIRST, and event ids below WIRE_EVENTS_FIRST. Words of larger ids are at the end of
 * the page; its memory is allocated when touched. */
#define WIRE_STREAMS (1u << 20)
#define WIRE_STREAMS_FIRST 4096u
#define WIRE_EVENTS (1u << 22)
#define WIRE_EVENTS_FIRST 65536u
#define WIRE_REPLIES 64u /* open synchronous calls of a client */
#define WIRE_REPLY_BYTES 224u
#define WIRE_CALLBACKS 1024u
#define WIRE_TEXT_BYTES (1u << 20)

struct wire_reply {
    _Atomic uint64_t ticket; /* stored last, with release: equals the request's ticket when done */
    int32_t result;          /* 0 or ERR_* / -errno */
    int32_t cuda;            /* the driver's own CUresult, unchanged */
    uint32_t bytes;
    uint32_t pad;
    unsigned char data[WIRE_REPLY_BYTES];
} __attribute__((aligned(64)));

/* Counters of a job, for salusctl; only the worker writes them. Times in ns, sizes in bytes. */
struct wire_stats {
    _Atomic uint64_t launches, copies, copied_bytes, ops, faults;
    _Atomic uint64_t busy_ns;      /* time that the device spent on this job's operations */
    _Atomic uint64_t memory_bytes; /* backed device memory */
    _Atomic uint64_t queued;       /* operations accepted and not complete */
    _Atomic uint64_t modules, functions;
    _Atomic uint64_t answers; /* sent to threads that waited for them: round trips */
    /* scheduling */
    _Atomic uint64_t lane;     /* 0: waits for admission; else its lane's number + 1 */
    _Atomic uint64_t position; /* position in the queue for admission, from 1 */
    _Atomic uint64_t why;      /* enum sched_why: why it does not run now */
    _Atomic uint64_t turn;     /* 1: it has its lane's turn */
    _Atomic uint64_t waited_ns;
    _Atomic uint64_t iterations, iteration_ns; /* complete; mean device time of one */
    _Atomic uint64_t demand_milli; /* part of the device that it uses when alone; 0: unknown */
    _Atomic uint64_t request_ns;   /* time of a request when alone, given or learnt; 0: unknown */
    _Atomic uint64_t inflight_cap; /* present K of the job */
    _Atomic uint64_t source;       /* enum iteration_source */
    _Atomic uint64_t persistent_bytes, ephemeral_bytes;           /* granted */
    _Atomic uint64_t persistent_peak_bytes, ephemeral_peak_bytes; /* used, in whole chunks */
    _Atomic uint64_t measured;       /* 1: the peaks were taken over three iterations */
    _Atomic uint64_t survivors;      /* ephemeral blocks that outlived an iteration */
    _Atomic uint64_t survived_bytes; /* copied to private chunks for them */
    _Atomic uint64_t switches;       /* times it got the turn from another job */
    _Atomic uint64_t switched_bytes; /* moved by switches: spilled and restored */
    _Atomic uint64_t swaps, swapped_bytes;
    /* Zeroed in its lane, because other owners had left data there. */
    _Atomic uint64_t cleared_bytes;
    _Atomic uint64_t file_bytes; /* parts of its host window that show its files */
};

/* The fault text of a job that was never admitted begins with this. */
#define WIRE_NOT_ADMITTED "not admitted: "

/* The error that ended a client's context; `cuda` is 0 while the context lives. Once it is set,
 * stream_done and event_ns do not change, and every answer is an error: operations that were
 * incomplete stay so. */
struct wire_fault {
    _Atomic uint32_t cuda; /* CUresult, sticky; stored last */
    uint32_t stream;
    uint64_t launch; /* number of the launch, from 1, in submission order */
    uint64_t address;
    char kernel[128];
    char text[256];
};

/* A job's latency target, or its restrictions in favour of other jobs' targets
 * (daemon/sched/control). Only the worker writes it. */
struct wire_slo {
    _Atomic uint64_t slo_ns, slo_of; /* 0: no target, and 0 in the next four */
    _Atomic uint64_t measured_ns;    /* measured in the latest control period with a request */
    _Atomic uint64_t periods, violations, stuck;
    _Atomic uint64_t pause_ns, sms; /* after each iteration; multiprocessors, 0: all */
};

/* Counters that were added after wire_stats. That struct cannot grow, since older clients know the
 * offsets of the fields after it. */
struct wire_usage {
    _Atomic uint64_t iteration_milli; /* demand_milli of only its iterations */
    _Atomic uint64_t refusals;      /* requests that failed because the device had no memory left */
    _Atomic uint64_t refused_bytes; /* largest of these requests */
    _Atomic uint64_t needed_bytes;  /* most memory that it would have used with such a request */
    _Atomic uint64_t boundaries_percent; /* confidence in stats.source */
};

/* Device memory that a job can obtain beyond the reservations of others and within its user's
 * limit. Zeros: the job waits for admission. */
struct wire_obtainable {
    /* Granules that the client could have in each window, including those that it has: this number
     * in either the one or the other. Segments are counted with the persistent window. */
    _Atomic uint64_t persistent, ephemeral;
    /* The larger of the two less what it uses, as the worker knows it. */
    _Atomic uint64_t free_bytes;
};

/* The job's operation that has been on the device longest, if for more than a tenth of a second. A
 * sequence lock: odd while it is being written; stats.busy_ns changes under it when this operation
 * ends. */
struct wire_running {
    _Atomic uint64_t seq;
    uint64_t since_ns; /* CLOCK_MONOTONIC; 0: none */
    uint64_t busy_ns;  /* device time used so far; not in stats.busy_ns yet */
    uint64_t launch;   /* number of the launch; 0: no launch */
    char what[136];    /* "kernel <name>", "copy", "memset" */
};

/* State of a job whose memory is saved at boundaries. Times are CLOCK_MONOTONIC. */
struct wire_savepoint {
    _Atomic uint64_t every_ns; /* 0: not requested */
    _Atomic uint64_t taken_ns; /* time of the latest savepoint; 0: there is none */
    _Atomic uint64_t bytes;    /* saved for it */
    _Atomic uint64_t count;    /* savepoints taken so far */
    /* Duration of the latest, from the boundary until the job continued. */
    _Atomic uint64_t took_ns;
    _Atomic uint64_t returns; /* times that the job went back */
    _Atomic uint64_t reason;  /* why there is none: enum savepoint_reason */
};

/* Position of kernels' output. This struct fits in a former gap of the page: older pages have zeros
 * here, which mean that the output is in `text`. */
struct wire_text_ring {
    _Atomic uint64_t first; /* earlier records have been overwritten by later ones */
    _Atomic uint64_t addr;  /* address and size of the ring in the host window; 0: `text` below */
    _Atomic uint64_t bytes;
};

#define WIRE_TEXT_RING_LEAST 4096u /* bytes */

struct wire_completion {
    _Atomic uint64_t credit __attribute__((aligned(64)));  /* ring slots consumed */
    _Atomic uint64_t spin_ns __attribute__((aligned(64))); /* time that a waiting thread may spin */
    _Atomic uint32_t worker_cpu; /* a thread that spins on this CPU parks at once */
    _Atomic uint64_t callbacks_posted __attribute__((aligned(64)));
    _Atomic uint64_t text_written;
    /* Granules that the client may use in each window without asking; MEM_BACK then needs no
     * ticket. */
    _Atomic uint64_t persistent_credit;
    struct wire_text_ring text_ring; /* the ring in which text_written is a position */
    _Atomic uint64_t ephemeral_credit __attribute__((aligned(64)));
    /* Iterations found so far. The other two: the number of MEM_USE records before the latest
     * began, and how many of these came before a launch of an earlier one, so that their blocks can
     * hold its results. Both are stored first. From them the client learns which of its allocations
     * outlive an iteration. */
    _Atomic uint64_t boundaries, boundary_uses, boundary_filled;
    struct wire_fault fault;
    struct wire_stats stats;
    struct wire_running running;
    uint64_t callbacks[WIRE_CALLBACKS]; /* tokens, in order; index = number % WIRE_CALLBACKS */
    struct wire_reply replies[WIRE_REPLIES];
    /* Sequence number of the stream's last record that completed with success, like all before it.
     */
    _Atomic uint64_t stream_done[WIRE_STREAMS_FIRST];
    _Atomic uint64_t event_ns[WIRE_EVENTS_FIRST]; /* device time of the latest completed record */
    /* Printf and assert output: {u32 bytes, u32 to_stderr} + text, as a byte ring, unless text_ring
     * names another place; later records overwrite the oldest. */
    char text[WIRE_TEXT_BYTES];
    /* Description of the device, equal for all jobs. Written before the page is offered, and never
     * changed. The first version of the page ended here; newer fields follow. */
    struct description description;
    struct wire_savepoint savepoint;   /* since 1.8 */
    struct wire_slo slo;               /* since 1.8 */
    struct wire_usage usage;           /* clients do not need it */
    struct wire_obtainable obtainable; /* since 1.9, like all that follow */
    _Atomic uint64_t streams_end;      /* larger than every stream id that the client has used */
    _Atomic uint64_t more_done[WIRE_STREAMS - WIRE_STREAMS_FIRST];
    _Atomic uint64_t more_ns[WIRE_EVENTS - WIRE_EVENTS_FIRST];
};

/* The words of a stream and of an event on a page. */
#define WIRE_DONE(page, id)                                 \
    ((id) < WIRE_STREAMS_FIRST ? &(page)->stream_done[(id)] \
                               : &(page)->more_done[(id)-WIRE_STREAMS_FIRST])
#define WIRE_EVENT_NS(page, id) \
    ((id) < WIRE_EVENTS_FIRST ? &(page)->event_ns[(id)] : &(page)->more_ns[(id)-WIRE_EVENTS_FIRST])

/* ---- records --------------------------------------------------------------------------------- */

/* X(NAME, number, struct) */
#define WIRE_OPS(X)                           \
    X(LAUNCH, 1, wire_launch)                 \
    X(COPY, 2, wire_copy)                     \
    X(MEMSET, 3, wire_memset)                 \
    X(EVENT_RECORD, 4, wire_event_record)     \
    X(STREAM_WAIT, 5, wire_stream_wait)       \
    X(HOST_FUNC, 6, wire_host_func)           \
    X(STREAM_CREATE, 7, wire_stream_create)   \
    X(STREAM_DESTROY, 8, wire_stream_destroy) \
    X(MEM_BACK, 9, wire_mem)                  \
    X(MEM_UNBACK, 10, wire_mem)               \
    X(MODULE_LOAD, 11, wire_module_load)      \
    X(MODULE_UNLOAD, 12, wire_module_unload)  \
    X(FUNC_GET, 13, wire_func_get)            \
    X(GLOBAL_GET, 14, wire_global_get)        \
    X(PING, 15, wire_ping)                    \
    X(FUNC_NAME, 16, wire_func_name)          \
    X(MEM_USE, 17, wire_mem)                  \
    X(MEM_DROP, 18, wire_mem)                 \
    X(ITERATION, 19, wire_ping)               \
    X(IDLE, 20, wire_ping)                    \
    X(GRAPH_DATA, 21, wire_graph_data)        \
    X(GRAPH_LAUNCH, 22, wire_graph_launch)    \
    X(GRAPH_DROP, 23, wire_graph_drop)        \
    X(MEM_MAKE, 24, wire_segment)             \
    X(MEM_OPEN, 25, wire_segment)             \
    X(MEM_CLOSE, 26, wire_segment)            \
    X(MEM_SHOW, 27, wire_segment)             \
    X(MEM_EXPORT, 28, wire_segment)           \
    X(MEM_SHARE, 29, wire_segment)            \
    X(TEXTURE, 30, wire_texture)              \
    X(TEXTURE_DROP, 31, wire_texture_drop)    \
    X(SIGNAL_MAKE, 32, wire_signal)           \
    X(SIGNAL_OPEN, 33, wire_signal)           \
    X(SIGNAL_CLOSE, 34, wire_signal)          \
    X(SIGNAL_ASK, 35, wire_signal)            \
    X(LIMIT, 36, wire_limit)                  \
    X(VALUE_WAIT, 37, wire_value)             \
    X(VALUE_WRITE, 38, wire_value)            \
    X(STREAM_SHARE, 39, wire_stream_share)    \
    X(GRAPH_CHOICE, 40, wire_choice)          \
    X(GRAPH_OFFER, 41, wire_graph_offer)      \
    X(GRAPH_SETTLE, 42, wire_graph_settle)    \
    X(HOST_SHOW, 43, wire_mem)                \
    X(FILE_MAP, 44, wire_file_range)          \
    X(FILE_UNMAP, 45, wire_file_range)        \
    X(FILE_DROP, 46, wire_file_range)         \
    X(ARRAY_MAKE, 47, wire_array)             \
    X(ARRAY_DROP, 48, wire_array_drop)        \
    X(TENSOR_MAP, 49, wire_tensor_map)        \
    X(CLUSTERS, 50, wire_clusters)            \
    X(TEXTURE_REF, 51, wire_texture_ref)      \
    X(TEXT, 52, wire_mem)                     \
    X(STREAM_PRIORITY, 53, wire_stream_priority)

enum wire_op {
#define X(name, number, type) WIRE_##name = number,
    WIRE_OPS(X)
#undef X
};

/* Begins every record. `stream` and `seq` order it: within a stream `seq` grows by one with each
 * stream-ordered record (LAUNCH..HOST_FUNC, VALUE_*, GRAPH_CHOICE, GRAPH_SETTLE), and the worker
 * publishes it in stream_done. All other records take effect when they are read and have seq 0. A
 * record with a `ticket` is answered in replies[reply]. */
struct wire_record {
    uint16_t op;
    uint16_t reply;
    uint32_t stream;
    uint64_t seq;
    uint64_t ticket; /* 0: no reply wanted */
};

#define WIRE_LAUNCH_COOPERATIVE 1u
/* Blocks run in clusters. Bits 4 to 15 have the blocks along each axis (1 to 16) less one, four
 * bits each. Without this flag they are 0. */
#define WIRE_LAUNCH_CLUSTER 2u
#define WIRE_CLUSTER_MAX 16u /* blocks of a cluster */

static inline uint16_t wire_cluster_flags(uint32_t x, uint32_t y, uint32_t z) {
    return (uint16_t)(WIRE_LAUNCH_CLUSTER | (x - 1) << 4 | (y - 1) << 8 | (z - 1) << 12);
}

static inline uint32_t wire_cluster_side(uint16_t flags, uint32_t axis) {
    return flags & WIRE_LAUNCH_CLUSTER ? (flags >> (4 + 4 * axis) & 15u) + 1 : 0;
}

/* Followed by param_bytes of parameters, laid out as the kernel declares them. 56 bytes, so that
 * eight parameters of 8 bytes still fit one slot of the ring. */
struct wire_launch {
    struct wire_record rec;
    uint32_t func;
    uint32_t grid[3];
    uint16_t block[3];
    uint16_t flags;
    uint32_t shared_bytes; /* dynamic */
    uint32_t param_bytes;
};
_Static_assert(sizeof(struct wire_launch) + 64 <= RING_SLOT_BODY, "a launch with 8 parameters");

/* Pitched copy between any two places of the client's windows. Plain copies have height = depth =
 * 1. */
struct wire_copy {
    struct wire_record rec;
    uint64_t dst, src;
    uint64_t width_bytes, height, depth;
    uint64_t dst_pitch, src_pitch, dst_slice, src_slice; /* bytes */
};

struct wire_memset {
    struct wire_record rec;
    uint64_t dst, pitch, width_elems, height;
    uint32_t value, elem_bytes; /* 1, 2 or 4 */
};

/* Flags in an event's id. The event gets the time at which the latest operation before it in its
 * stream began or ended on the device, regardless of when the event was recorded. Since 1.9. */
#define WIRE_EVENT_BEGAN 0x80000000u
#define WIRE_EVENT_ENDED 0x40000000u
#define WIRE_EVENT_MARKS (WIRE_EVENT_BEGAN | WIRE_EVENT_ENDED)

struct wire_event_record {
    struct wire_record rec;
    uint32_t event;  /* with at most one of WIRE_EVENT_MARKS */
    uint32_t signal; /* 1 + number of a signal that is recorded as well; 0: none */
};

#define WIRE_ON_SIGNAL 0x80000000u

/* Later records of rec.stream wait until stream `on` has completed `on_seq`. With `on` =
 * WIRE_ON_SIGNAL, on_seq is the number of a signal, and they wait for its latest recording before
 * this record was read. */
struct wire_stream_wait {
    struct wire_record rec;
    uint32_t on;
    /* Only in a graph: 1 + index among the launch's waits; 0: a wait of the graph itself. */
    uint32_t slot;
    uint64_t on_seq;
};

struct wire_host_func {
    struct wire_record rec;
    uint64_t token; /* chosen by the client; returned through callbacks[] */
};

/* The cell less the value, as signed numbers that wrap around, is >= 0. */
#define WIRE_VALUE_GEQ 0u
#define WIRE_VALUE_EQ 1u
#define WIRE_VALUE_AND 2u /* cell and value have a common bit */
#define WIRE_VALUE_NOR 3u /* some bit is set in neither */

/* VALUE_WAIT: later records of the stream wait until the comparison of a cell of the client's
 * memory with the value is true. Any process or stream may write the cell; without a write they
 * wait forever. VALUE_WRITE: stores the value in the cell. */
struct wire_value {
    struct wire_record rec;
    uint64_t addr;    /* a multiple of `bytes` */
    uint64_t value;   /* fits into `bytes` */
    uint32_t bytes;   /* size of the cell: 4 or 8 */
    uint32_t compare; /* WIRE_VALUE_*; 0 for a write */
};

#define WIRE_STREAM_NONBLOCKING 1u /* no implicit order with the legacy stream */

/* The id of a destroyed stream may be used again. Its sequence numbers then continue where they
 * ended, or at a higher number once all records of the old stream are complete. */
struct wire_stream_create {
    struct wire_record rec; /* rec.stream is the new stream */
    uint32_t flags;
    int32_t priority;
    /* Sequence number of its first record; stream_done starts at first_seq - 1. */
    uint64_t first_seq;
};

/* From now on kernels of the stream run on at most `sms` multiprocessors; 0: on all. A new stream
 * has all. */
struct wire_stream_share {
    struct wire_record rec;
    uint32_t sms, pad;
};

/* Sets the stream's priority, at once or when all earlier records are complete. (1.9) */
struct wire_stream_priority {
    struct wire_record rec;
    int32_t priority;
    uint32_t pad;
};

struct wire_stream_destroy { /* takes effect when all earlier records are complete */
    struct wire_record rec;
};

/* MEM_BACK, MEM_UNBACK: multiples of granularity_bytes inside the alloc window. MEM_BACK with a
 * ticket is answered, with text when it is refused for a limit of its user; without a ticket it
 * must lie within the credit.
 * MEM_USE, MEM_DROP: a block of the ephemeral window was allocated, or freed (bytes as allocated);
 * MEM_DROP comes before any record that uses the memory again.
 * HOST_SHOW: the client is about to use this part of the host window. Only needed with
 * WIRE_DEVICE_HOST.
 * TEXT: output of kernels goes to the ring [addr, addr + bytes) of the host window from now on, and
 * unread output moves there; bytes 0: to wire_completion.text. Answered. (1.9)
 * ITERATION: an iteration begins. IDLE: a synchronisation returned and no operation is queued. */
struct wire_mem {
    struct wire_record rec;
    uint64_t addr, bytes;
};

/* Segments: memory of whole granules without an address of its own, which the client names by a
 * number that it chooses. Fields not mentioned here are 0.
 * MEM_MAKE makes `segment` of `bytes`. MEM_OPEN opens the one with this key, of a client of the
 * same user (answered with wire_segment_reply). Both are charged to the persistent reservation.
 * MEM_MAKE with `ephemeral`: the segment belongs to the lane, is charged like blocks of the
 * ephemeral window, and has no key.
 * MEM_SHOW: maps its first `bytes` at `addr` in the first half of the alloc window, or in the
 * second half if it is ephemeral, until MEM_UNBACK. MEM_CLOSE: closes the segment, which must not
 * be mapped.
 * MEM_EXPORT returns its key. MEM_SHARE turns these pages, backed by MEM_BACK, into a segment (the
 * whole segment, if they are one already) and returns its key. Both are answered with
 * wire_segment_reply. */
struct wire_segment {
    struct wire_record rec;
    uint32_t segment, ephemeral;
    uint64_t addr, bytes;
    uint64_t key[2];
};

struct wire_segment_reply {
    uint64_t key[2], bytes;
};

/* Numbers are below this; before 1.9 below WIRE_SEGMENTS_FIRST. */
#define WIRE_SEGMENTS (1u << 18)
#define WIRE_SEGMENTS_FIRST 65536u

/* Signals: events shared by clients of one user. The client names a signal by a number that it
 * chooses. SIGNAL_MAKE, SIGNAL_OPEN: like MEM_MAKE and MEM_OPEN, answered with wire_signal_reply.
 * SIGNAL_ASK: asks whether the work before its latest recording is complete. */
struct wire_signal {
    struct wire_record rec;
    uint32_t signal, pad;
    uint64_t key[2];
};

struct wire_signal_reply {
    uint64_t key[2];
    uint32_t done, pad;
};

#define WIRE_SIGNALS (1u << 16) /* numbers are below this; before 1.9 below WIRE_SIGNALS_FIRST */
#define WIRE_SIGNALS_FIRST 4096u

/* FILE_MAP: whole pages of the host window, none of which shows a file yet, show `file` from
 * `offset` on instead of the window's own memory; answered. FILE_UNMAP: ends this for exactly these
 * pages. FILE_DROP: no more of `file` will be mapped, and its number is free after the answer;
 * existing mappings stay. (1.5) */
struct wire_file_range {
    struct wire_record rec;
    uint32_t file, pad;
    uint64_t addr, bytes, offset;
};

struct wire_module_load { /* answered with wire_module_reply */
    struct wire_record rec;
    uint32_t module;     /* id, chosen by the client, not in use */
    uint32_t capability; /* capability for which PTX is chosen: 130 for 13.0; 0: the job's */
    /* Position and size in the host window; copied once, then free for the client. */
    uint64_t image, image_bytes;
    uint64_t why, why_bytes; /* host window: receives NUL-terminated text about a failure */
};

struct wire_module_reply {
    uint32_t functions, globals;
};

struct wire_module_unload {
    struct wire_record rec;
    uint32_t module;
    uint32_t pad;
};

/* Followed by the NUL-terminated name. Answered with wire_func_reply, or on error with
 * NUL-terminated text about it. */
struct wire_func_get {
    struct wire_record rec;
    uint32_t module, func; /* func: id chosen by the client, not in use */
    uint64_t params;       /* host window: receives wire_param[param_count] */
    uint32_t params_cap;   /* elements */
    uint32_t name_bytes;   /* with the NUL */
};

struct wire_param {
    uint32_t offset, bytes;
};

#define WIRE_LAUNCHES_KERNELS 1u
#define WIRE_LAUNCHES_GRAPHS 2u
#define WIRE_CALLS_PRINTF 4u /* the kernel, or one that it launches, may do so (1.9) */
#define WIRE_CALLS_MALLOC 8u
#define WIRE_CALLS (WIRE_CALLS_PRINTF | WIRE_CALLS_MALLOC)

struct wire_func_reply {
    uint32_t param_count, param_bytes;
    uint32_t regs, shared_bytes, local_bytes, const_bytes;
    uint32_t max_threads; /* limit for a block */
    uint32_t ptx_version, binary_version;
    uint32_t req_block[3]; /* .reqntid, else zeros */
    uint16_t cluster;      /* .reqnctapercluster, as flags of wire_launch; else 0 */
    uint16_t cluster_must; /* 1: .explicitcluster, launches must have clusters */
    uint32_t max_cluster;  /* .maxclusterrank, blocks; else 0 */
    /* WIRE_LAUNCHES_*: uses of CUDA's device runtime; WIRE_CALLS_*: calls of the system */
    uint32_t launches;
};

struct wire_global_get { /* followed by the NUL-terminated name; answered with wire_global_reply */
    struct wire_record rec;
    uint32_t module;
    uint32_t name_bytes;
};

struct wire_global_reply {
    uint64_t addr, bytes;
};

/* Sets a limit for kernels. Answered with CUDA's error if it cannot be set, or with 0 and the value
 * in force as uint64_t (1.9). */
struct wire_limit {
    struct wire_record rec;
    uint32_t limit; /* CU_LIMIT_STACK_SIZE, _PRINTF_FIFO_SIZE, _MALLOC_HEAP_SIZE or
                       _DEV_RUNTIME_PENDING_LAUNCH_COUNT */
    uint32_t pad;
    uint64_t value;
};

struct wire_ping { /* answered at once */
    struct wire_record rec;
};

/* Writes the name of the module's index-th function to the host window, truncated to `cap` with its
 * NUL. Answered with its length (u32, without the NUL), or ERR_NOT_FOUND after the last. */
struct wire_func_name {
    struct wire_record rec;
    uint32_t module, index;
    uint64_t buf;
    uint32_t cap, pad;
};

/* ---- graphs ----------------------------------------------------------------------------------
 *
 * A graph is a sequence of records that the client sends once; a launch record of a few bytes then
 * runs the sequence again. It may contain: LAUNCH, COPY, MEMSET, EVENT_RECORD, STREAM_WAIT,
 * HOST_FUNC, VALUE_WAIT, VALUE_WRITE, GRAPH_CHOICE, GRAPH_SETTLE, MEM_USE and MEM_DROP. Each is
 * preceded by a wire_graph_item and padded with zeros to 8 bytes.
 *
 * Within a graph a stream is a lane, from 0, and sequence numbers count the lane's records from 1.
 * A STREAM_WAIT names a lane and an earlier record of it, or, with a slot, one of the launch's
 * waits. A HOST_FUNC's token counts the host functions from 0. The launch gives every lane a stream
 * and the number of its first record there, and host functions their first token. */

#define WIRE_GRAPHS (1u << 20) /* ids are below this; before 1.9 below WIRE_GRAPHS_FIRST */
#define WIRE_GRAPHS_FIRST 65536u
#define WIRE_GRAPH_LANES 8u
#define WIRE_GRAPH_WAITS 1024u
#define WIRE_GRAPH_BYTES (256ull << 20) /* all graphs of a client */
#define WIRE_GRAPH_PIECE (32u << 10)    /* at most in one record */

struct wire_graph_item {
    uint32_t bytes; /* size of the following record, without its padding */
    uint32_t pad;
};

/* Followed by piece_bytes of the graph. Pieces come in order: one at offset 0 begins a graph whose
 * id is not in use; the one that reaches total_bytes completes it. */
struct wire_graph_data {
    struct wire_record rec;
    uint32_t graph, piece_bytes;
    uint64_t offset, total_bytes;
};

struct wire_graph_lane {
    uint32_t stream, pad;
    uint64_t first_seq;
};

struct wire_graph_wait {
    uint32_t on, pad;
    uint64_t on_seq;
};

/* Followed by wire_graph_lane[lanes] and wire_graph_wait[waits]. The graph's records are read in
 * its place, before the next record. */
struct wire_graph_launch {
    struct wire_record rec;
    uint32_t graph;
    uint16_t lanes, waits;
    uint64_t first_token;
};

struct wire_graph_drop { /* takes effect at once: earlier launches have been read */
    struct wire_record rec;
    uint32_t graph, pad;
};

#define WIRE_CHOICE_IF 0u     /* the first body; if the value is 0 the second, if there is one */
#define WIRE_CHOICE_WHILE 1u  /* the only body, repeatedly while the value is not 0 */
#define WIRE_CHOICE_SWITCH 2u /* the body with this number, from 0 */
/* The only body, unless the value is 0. It is launches; their grid and parameters follow the value
 * (wire_node). */
#define WIRE_CHOICE_LAUNCH 3u
#define WIRE_CHOICES 4096u   /* bodies of one choice */
#define WIRE_GRAPH_DEPTH 32u /* nesting of graphs in graphs */
#define WIRE_GRAPH_NONE UINT32_MAX

/* Only within a graph: a conditional node. When all earlier records of its stream are complete, the
 * worker reads a word of the host window. The value selects a body, which is another graph, or
 * none; the worker then reads the body's records. The node is complete when they are. Followed by
 * uint32_t[count], the bodies: graphs sent before, which belong to this one from then on, even if
 * they are dropped; WIRE_GRAPH_NONE means no records. A loop also ends after a turn without a
 * launch, copy or fill. A body holds LAUNCH, COPY, MEMSET, GRAPH_CHOICE and STREAM_WAIT without a
 * slot; its lanes are streams of the worker's own. */
struct wire_choice {
    struct wire_record rec;
    uint64_t value; /* address of a uint32_t */
    uint32_t kind, count;
    uint32_t first, pad; /* used by the worker: index of the bodies in its list; 0 on the wire */
};

/* A kernel node that kernels can change. Its handle is its address in the host window; they write
 * it by functions of the device (ptx_runtime.c). */
#define WIRE_NODE_KIND 0x5361a5c3u
struct wire_node {
    uint32_t enabled; /* the value of its choice */
    uint32_t grid[3];
    uint32_t param_bytes, kind; /* these do not change */
    unsigned char params[];
};

#define WIRE_GRAPH_OFFERS 4096u

/* From now on kernels may launch this graph under this handle, until another one is offered under
 * it. WIRE_GRAPH_NONE: no graph any more, and requested launches that have not begun are dropped.
 * The graph must fit as a body; it belongs to the offer from then on, even if it is dropped. A
 * client has at most WIRE_GRAPH_OFFERS offers. */
struct wire_graph_offer {
    struct wire_record rec;
    uint64_t handle;
    uint32_t graph, pad;
};

/* Only within a graph that is launched, as the last record of its first lane: kernels of the graph
 * may launch others. It is complete when all earlier records of the lane and those launches are. */
struct wire_graph_settle {
    struct wire_record rec;
    uint64_t handle; /* handle of the launched graph, as its kernels see it; 0: none */
};

/* Makes an array that the device lays out itself (WIRE_DEVICE_ARRAYS); answered. COPY and TEXTURE
 * name it by the addresses that array_layout.h would give it, in the alloc window, where the client
 * has no memory; only they may use these addresses. A copy stays within one level, in rows and
 * slices of the level's pitch. The array is charged to the persistent reservation. (1.5) */
struct wire_array {
    struct wire_record rec;
    uint64_t addr;
    uint32_t width, height, depth; /* elements; 0: no such dimension. depth: layers and faces too */
    uint32_t levels;               /* 0: it is not mipmapped */
    uint32_t format, channels;     /* CUarray_format, UNORM and SNORM too; 1, 2, 4 */
    uint32_t flags; /* CUDA_ARRAY3D_: LAYERED, SURFACE_LDST, CUBEMAP, TEXTURE_GATHER */
    uint32_t pad;
};

/* Takes effect when all earlier records are complete. Textures of the array end with it. */
struct wire_array_drop {
    struct wire_record rec;
    uint64_t addr;
};

/* Makes a texture or surface that later kernels may name. Answered on request with the uint64_t
 * that kernels get: the handle, or, if the device lays out arrays itself, the device's value. The
 * memory is an array as array_layout.h lays it out, or one row (LINEAR), or rows of `pitch`
 * (PITCHED). */
#define WIRE_TEXTURE_SURFACE 1u
#define WIRE_TEXTURE_LAYERED 2u
#define WIRE_TEXTURE_LINEAR 4u
#define WIRE_TEXTURE_PITCHED 8u
#define WIRE_TEXTURE_NORMALIZED_COORDS 16u
#define WIRE_TEXTURE_NORMALIZED_VALUES 32u
#define WIRE_TEXTURE_SRGB 64u
#define WIRE_TEXTURE_SEAMLESS 128u

struct wire_texture {
    struct wire_record rec;
    /* Handle with low 16 bits that are not in use; TEXTURE_DROP names the texture by it. */
    uint64_t handle;
    uint64_t addr, pitch;          /* bytes; pitch: only PITCHED */
    uint32_t width, height, depth; /* size of the whole first level of the array, at least 1 */
    uint32_t first_layer, layers;  /* visible layers; 0 and 0 unless LAYERED */
    uint8_t first_level, levels;   /* visible levels */
    uint8_t format, channels;      /* CUarray_format; 1, 2, 4 */
    uint16_t flags;
    uint8_t address_mode[3];      /* CUaddress_mode */
    uint8_t filter, level_filter; /* CUfilter_mode */
    uint8_t anisotropy;           /* at most; 0 means 1 */
    uint8_t pad[4];
    float level_bias, least_level, most_level, border[4];
    uint32_t pad2;
};

/* Binds a texture or surface reference of a module (`.texref`, `.surfref`), if the device lays out
 * arrays itself; otherwise a reference is a variable that holds a handle. Takes effect when all
 * earlier records are complete. Followed by the NUL-terminated name. Answered: ERR_NOT_FOUND if the
 * module has no such reference. (1.8) */
struct wire_texture_ref {
    struct wire_texture texture; /* rec of `texture` is the record's own; its handle is 0 */
    uint32_t module, name_bytes; /* with the NUL */
    uint32_t bound, pad;         /* bound 0: unbinds; only SURFACE of `texture` counts then */
};

#define WIRE_REFERENCE_NAME 4096u /* bytes of a name, at most */

struct wire_texture_drop { /* takes effect when all earlier records are complete */
    struct wire_record rec;
    uint64_t handle;
};

/* Asks how many clusters of launches like this one the device holds at once, or with `largest` for
 * the most blocks that a cluster of such launches can have. Only with WIRE_DEVICE_CLUSTERS;
 * answered with a uint32_t. (1.6) */
struct wire_clusters {
    struct wire_record rec;
    uint32_t func, largest;         /* largest: 0 or 1 */
    uint32_t threads, shared_bytes; /* threads of a block; dynamic shared memory */
    uint16_t flags;                 /* flags of a launch, with WIRE_LAUNCH_CLUSTER */
    uint16_t pad[3];
};

/* Makes a tensor map in the device's own format (WIRE_DEVICE_MAPS), answered with a struct
 * tensor_answer. The map is data of the program: neither the worker nor the device stores it. Its
 * address is checked when kernels copy by it. (1.6) */
struct wire_tensor_map {
    struct wire_record rec;
    struct tensor_ask ask;
};

/* Ids are below these; before 1.9 below the _FIRST constants. A texture's id is the low part of its
 * handle. */
#define WIRE_TEXTURES (1u << 20)
#define WIRE_TEXTURES_FIRST 65536u
#define WIRE_MODULES (1u << 18)
#define WIRE_MODULES_FIRST 4096u
#define WIRE_FUNCS (1u << 20)
#define WIRE_FUNCS_FIRST 65536u
#define WIRE_PARAM_MAX 32764u

#endif
