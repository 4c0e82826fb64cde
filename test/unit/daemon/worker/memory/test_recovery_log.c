/* SPDX-License-Identifier: Apache-2.0
 *
 * The log of a recovery state. Whatever was sent, the log after tidying lets a reader that knows
 * nothing else restore the same client, and is never larger than the live objects require. Also
 * logs with arbitrary contents.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/recovery/module_reservation.h"
#include "daemon/worker/recovery/record_log.h"
#include "daemon/worker/recovery/record_log_tidy.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/record.h"

#define ROOM (1ull << 20)
#define STREAMS 6u
#define MODULES 5u
#define FUNCS 4u /* functions of a module */
#define HANDLES 6u
#define BLOCKS 12u
#define GRAPHS 4u
#define GRAPH_OPS 2u /* operations on each of the graph's lanes */
#define LIMITS 2u
#define PENDING 32u
#define IMAGE 40u
#define BASE 0x210000000000ull

/* A client's state: from the messages sent, or from the log. */
struct state {
    bool stream[STREAMS];
    uint64_t next[STREAMS];
    uint32_t module[MODULES], func[MODULES][FUNCS]; /* number among all ever loaded; 0: none */
    uint32_t placed[MODULES];
    uint32_t texture[HANDLES], graph[GRAPHS];
    bool block[BLOCKS];
    uint64_t limit[LIMITS], share[STREAMS];
};

struct pending {
    uint64_t behind[STREAMS]; /* completes once these streams have reached their numbers */
    bool waits;
};

static struct state now;
static _Atomic uint64_t done[WIRE_STREAMS];
static struct pending pending[PENDING];
static uint64_t deferred, deferred_done, made, ring;
static struct log_header *header;
static struct log journal;
static unsigned char *memory;
static uint64_t seed;

static uint32_t dice(uint32_t below) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % below;
}

/* The log ends at the end of its memory. */
static void begin(uint64_t with) {
    seed = with;
    if (!memory) {
        memory = mmap(NULL, ROOM + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert_neq(memory, MAP_FAILED);
        cr_assert_eq(mprotect(memory, ROOM, PROT_READ | PROT_WRITE), 0);
        header = calloc(1, sizeof(*header));
    }
    memset(header, 0, sizeof(*header));
    memset(&now, 0, sizeof(now));
    memset(done, 0, sizeof(done));
    deferred = deferred_done = made = ring = 0;
    now.stream[0] = true;
    for (uint32_t i = 0; i < STREAMS; i++)
        now.next[i] = 1;
    record_log_attach(&journal, header, memory, ROOM);
}

static void tidy_up(void) {
    const struct log_state s = {.stream_done = done, .deferred_done = deferred_done};
    cr_assert_eq(record_log_tidy(&journal, &s), 0);
}

static struct log_entry *put(void *record, uint32_t bytes, uint64_t tail, bool waits) {
    if (record_log_full(&journal, bytes + tail)) tidy_up();
    struct log_entry *e = record_log_reserve(&journal, record, bytes, tail);
    cr_assert(e, "there is room");
    e->ring_next = ++ring;
    memset(record_log_tail(e), 0, tail);
    if (waits) e->number = ++deferred;
    record_log_commit(&journal, e);
    return e;
}

/* ---- a client's records ---------------------------------------------------------------------- */

static void send_op(uint32_t stream, uint32_t func) {
    struct wire_launch l = {.rec = {.op = WIRE_LAUNCH, .stream = stream, .seq = now.next[stream]++},
                            .func = func,
                            .grid = {1, 1, 1},
                            .block = {1, 1, 1}};
    put(&l, sizeof(l), 0, false);
}

static void do_op(void) {
    uint32_t stream = dice(STREAMS), m = dice(MODULES), f = dice(FUNCS);
    if (now.stream[stream] && now.module[m] && now.func[m][f]) send_op(stream, m * FUNCS + f);
}

static void do_stream(void) {
    uint32_t s = 1 + dice(STREAMS - 1);
    struct wire_stream_create c = {.rec = {.op = WIRE_STREAM_CREATE, .stream = s},
                                   .first_seq = now.next[s]};
    struct wire_stream_destroy d = {.rec = {.op = WIRE_STREAM_DESTROY, .stream = s}};
    if (now.stream[s]) put(&d, sizeof(d), 0, false);
    if (!now.stream[s]) put(&c, sizeof(c), 0, false);
    now.stream[s] = !now.stream[s];
    now.share[s] = 0;
}

static void do_share(void) {
    uint32_t s = 1 + dice(STREAMS - 1);
    struct wire_stream_share h = {.rec = {.op = WIRE_STREAM_SHARE, .stream = s}};
    if (!now.stream[s]) return;
    h.sms = 1 + dice(100);
    now.share[s] = h.sms;
    put(&h, sizeof(h), 0, false);
}

/* Defers a deletion until everything sent so far has completed. */
static void defer(bool waits) {
    struct pending *p = &pending[deferred % PENDING];
    p->waits = waits;
    memcpy(p->behind, now.next, sizeof(p->behind));
}

static bool can_defer(void) {
    return deferred - deferred_done < PENDING;
}

static void do_module(void) {
    uint32_t m = dice(MODULES);
    struct wire_module_load l = {
        .rec = {.op = WIRE_MODULE_LOAD}, .module = m, .image_bytes = IMAGE};
    struct wire_module_unload u = {.rec = {.op = WIRE_MODULE_UNLOAD}, .module = m};
    struct log_placed p = {.rec.op = RECORD_LOG_PLACED, .module = m};
    if (!now.module[m]) {
        now.module[m] = (uint32_t)++made;
        memcpy(record_log_tail(put(&l, sizeof(l), IMAGE, false)), &now.module[m],
               sizeof(now.module[m]));
        struct log_entry *e = put(&p, sizeof(p), sizeof(struct dev_granule), false);
        ((struct dev_granule *)record_log_tail(e))->chunk = now.placed[m] = now.module[m];
    } else if (can_defer()) {
        defer(true);
        put(&u, sizeof(u), 0, true);
        now.module[m] = now.placed[m] = 0;
        memset(now.func[m], 0, sizeof(now.func[m]));
    }
}

static void do_func(void) {
    struct {
        struct wire_func_get get;
        char name[8];
    } g = {.get = {.rec = {.op = WIRE_FUNC_GET}, .name_bytes = 2}, .name = "k"};
    uint32_t m = dice(MODULES), f = dice(FUNCS);
    if (!now.module[m] || now.func[m][f]) return;
    g.get.module = m;
    g.get.func = m * FUNCS + f;
    struct log_entry *e = put(&g, sizeof(g.get) + 2, 0, false);
    if (dice(8) == 0)
        e->flags |= RECORD_LOG_VOID;
    else
        now.func[m][f] = now.module[m];
}

static void do_texture(void) {
    uint32_t h = dice(HANDLES);
    struct wire_texture t = {.rec = {.op = WIRE_TEXTURE},
                             .handle = h,
                             .addr = BASE,
                             .width = 1,
                             .height = 1,
                             .depth = 1,
                             .levels = 1,
                             .format = CU_AD_FORMAT_UNSIGNED_INT8,
                             .channels = 1,
                             .flags = WIRE_TEXTURE_LINEAR};
    struct wire_texture_drop d = {.rec = {.op = WIRE_TEXTURE_DROP}, .handle = h};
    if (!now.texture[h]) {
        now.texture[h] = (uint32_t)++made;
        t.addr += 16 * made;
        put(&t, sizeof(t), 0, false);
    } else if (can_defer()) {
        now.texture[h] = 0;
        defer(true);
        put(&d, sizeof(d), 0, true);
    }
}

static void do_memory(void) {
    struct wire_mem m = {
        .rec = {.op = dice(2) ? WIRE_MEM_BACK : WIRE_MEM_UNBACK}, .addr = BASE, .bytes = 4096};
    if (!can_defer()) return;
    defer(m.rec.op == WIRE_MEM_UNBACK);
    put(&m, sizeof(m), 0, true);
}

/* Pairs of these addresses have the same hash. */
static uint64_t block_addr(uint32_t b) {
    uint64_t addr = BASE + b / 2 * 512;
    return b % 2 ? addr ^ (0x10000ull << 32 | 0x10000) : addr;
}

static void do_block(void) {
    uint32_t b = dice(BLOCKS);
    struct wire_mem m = {.rec = {.op = now.block[b] ? WIRE_MEM_DROP : WIRE_MEM_USE},
                         .addr = block_addr(b),
                         .bytes = 512};
    now.block[b] = !now.block[b];
    put(&m, sizeof(m), 0, false);
}

static void do_limit(void) {
    static const uint32_t names[LIMITS] = {CU_LIMIT_STACK_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE};
    uint32_t i = dice(LIMITS);
    struct wire_limit l = {.rec = {.op = WIRE_LIMIT}, .limit = names[i], .value = ++made};
    now.limit[i] = made;
    put(&l, sizeof(l), 0, false);
}

static void do_graph(void) {
    struct {
        struct wire_graph_data data;
        uint64_t piece;
    } d = {.data = {.rec = {.op = WIRE_GRAPH_DATA}, .piece_bytes = 8, .total_bytes = 8}};
    uint32_t g = dice(GRAPHS);
    struct wire_graph_drop drop = {.rec = {.op = WIRE_GRAPH_DROP}, .graph = g};
    if (now.graph[g]) {
        now.graph[g] = 0;
        put(&drop, sizeof(drop), 0, false);
    } else {
        uint32_t body = dice(GRAPHS);
        d.data.graph = g;
        d.piece = (uint32_t)++made | (uint64_t)now.graph[body] << 32;
        struct log_entry *e = put(&d, sizeof(d), 0, false);
        if (now.graph[body]) e->flags |= RECORD_LOG_BODIES;
        now.graph[g] = (uint32_t)made;
    }
}

/* The graph runs on two streams, if they exist. */
static void do_graph_launch(void) {
    struct {
        struct wire_graph_launch launch;
        struct wire_graph_lane lane[2];
    } l = {.launch = {.rec = {.op = WIRE_GRAPH_LAUNCH}, .graph = dice(GRAPHS), .lanes = 2}};
    uint32_t one = dice(STREAMS), two = (one + 1) % STREAMS;
    if (!now.graph[l.launch.graph] || !now.stream[one] || !now.stream[two]) return;
    l.lane[0] = (struct wire_graph_lane){.stream = one, .first_seq = now.next[one]};
    l.lane[1] = (struct wire_graph_lane){.stream = two, .first_seq = now.next[two]};
    uint64_t *ends = record_log_tail(put(&l, sizeof(l), 16, false));
    ends[0] = now.next[one] += GRAPH_OPS;
    ends[1] = now.next[two] += GRAPH_OPS;
}

static void do_ask(void) {
    struct wire_ping p = {.rec = {.op = WIRE_PING, .ticket = 1}};
    put(&p, sizeof(p), 0, false);
}

/* ---- completion ------------------------------------------------------------------------------ */

static void complete(void) {
    uint32_t s = dice(STREAMS);
    if (done[s] + 1 < now.next[s]) done[s] += 1 + dice((uint32_t)(now.next[s] - 1 - done[s]));
}

static void settle(void) {
    const struct pending *p = &pending[deferred_done % PENDING];
    if (deferred_done == deferred) return;
    for (uint32_t s = 0; p->waits && s < STREAMS; s++)
        if (done[s] + 1 < p->behind[s]) return;
    deferred_done++;
}

/* ---- a reader that knows only the log -------------------------------------------------------- */

struct reader {
    struct state s;
    bool closing[STREAMS];
    uint64_t number;
};

static void read_op(struct reader *r, uint32_t stream, uint64_t seq, uint32_t func) {
    if (seq < r->s.next[stream]) { /* a missing operation must be complete */
        cr_assert_leq(seq, done[stream], "stream %u ran %lu twice", stream, seq);
        return;
    }
    cr_assert(r->s.stream[stream] && seq == r->s.next[stream], "stream %u is at %lu, not %lu",
              stream, r->s.next[stream], seq);
    r->s.next[stream]++;
    if (func == UINT32_MAX || seq <= done[stream]) return;
    cr_assert(r->s.func[func / FUNCS][func % FUNCS], "function %u of an open launch", func);
}

static void read_create(struct reader *r, const struct wire_stream_create *c) {
    uint32_t s = c->rec.stream;
    uint64_t first = done[s] + 1 > c->first_seq ? done[s] + 1 : c->first_seq;
    cr_assert(!r->s.stream[s], "stream %u is made twice", s);
    r->s.stream[s] = true;
    r->s.share[s] = 0;
    if (r->closing[s] && r->s.next[s] > done[s] + 1)
        cr_assert_eq(first, r->s.next[s]);
    else
        r->s.next[s] = first;
}

static void read_graph_launch(struct reader *r, const struct wire_graph_launch *g) {
    const struct wire_graph_lane *lane = (const void *)(g + 1);
    cr_assert(r->s.graph[g->graph], "graph %u is launched", g->graph);
    for (uint32_t i = 0; i < g->lanes; i++)
        for (uint32_t k = 0; k < GRAPH_OPS; k++)
            read_op(r, lane[i].stream, lane[i].first_seq + k, UINT32_MAX);
}

static void read_block(struct reader *r, const struct wire_mem *m) {
    uint32_t b = 0;
    while (b < BLOCKS - 1 && block_addr(b) != m->addr)
        b++;
    bool use = m->rec.op == WIRE_MEM_USE, *block = &r->s.block[b];
    cr_assert_neq(*block, use, "block %lx", m->addr);
    *block = use;
}

static void read_graph(struct reader *r, const struct wire_graph_data *d) {
    uint32_t piece[2];
    bool there = false;
    memcpy(piece, d + 1, sizeof(piece));
    for (uint32_t g = 0; g < GRAPHS; g++)
        there = there || r->s.graph[g] == piece[1];
    cr_assert(!r->s.graph[d->graph] && (there || !piece[1]), "graph %u's body is there", d->graph);
    r->s.graph[d->graph] = piece[0];
}

static void read_unload(struct reader *r, uint32_t m) {
    cr_assert(r->s.module[m], "module %u is there", m);
    r->s.module[m] = r->s.placed[m] = 0;
    memset(r->s.func[m], 0, sizeof(r->s.func[m]));
}

/* Reads an entry that has a number. */
static void read_number(struct reader *r, const struct log_entry *e) {
    if (!e->number) return;
    cr_assert_gt(e->number, deferred_done, "%u has taken effect", record_log_record(e)->op);
    cr_assert_eq(e->number, r->number + 1, "nothing before it is missing");
    r->number = e->number;
}

static void read_entry(struct reader *r, struct log_entry *e) {
    const struct wire_record *rec = record_log_record(e);
    const void *at = rec;
    const struct wire_func_get *f = at;
    const struct wire_limit *l = at;
    read_number(r, e);
    switch (rec->op) {
    case WIRE_LAUNCH:
        read_op(r, rec->stream, rec->seq, ((const struct wire_launch *)at)->func);
        break;
    case WIRE_STREAM_CREATE: read_create(r, at); break;
    case WIRE_STREAM_DESTROY:
        cr_assert(r->s.stream[rec->stream], "stream %u is there", rec->stream);
        r->s.stream[rec->stream] = false;
        r->closing[rec->stream] = true;
        r->s.share[rec->stream] = 0;
        break;
    case WIRE_STREAM_SHARE:
        cr_assert(r->s.stream[rec->stream]);
        r->s.share[rec->stream] = ((const struct wire_stream_share *)at)->sms;
        break;
    case WIRE_MODULE_LOAD: {
        uint32_t *module = &r->s.module[((const struct wire_module_load *)at)->module];
        cr_assert(!*module);
        memcpy(module, record_log_tail(e), sizeof(*module));
        break;
    }
    case RECORD_LOG_PLACED:
        r->s.placed[((const struct log_placed *)at)->module] =
            (uint32_t)((struct dev_granule *)record_log_tail(e))->chunk;
        break;
    case WIRE_MODULE_UNLOAD: read_unload(r, ((const struct wire_module_unload *)at)->module); break;
    case WIRE_FUNC_GET:
        cr_assert(r->s.module[f->module], "module %u is there", f->module);
        r->s.func[f->module][f->func % FUNCS] = r->s.module[f->module];
        break;
    case WIRE_TEXTURE:
        r->s.texture[((const struct wire_texture *)at)->handle] =
            (uint32_t)((((const struct wire_texture *)at)->addr - BASE) / 16);
        break;
    case WIRE_TEXTURE_DROP: r->s.texture[((const struct wire_texture_drop *)at)->handle] = 0; break;
    case WIRE_MEM_USE:
    case WIRE_MEM_DROP: read_block(r, at); break;
    case WIRE_LIMIT: r->s.limit[l->limit == CU_LIMIT_STACK_SIZE ? 0 : 1] = l->value; break;
    case WIRE_GRAPH_DATA: read_graph(r, at); break;
    case WIRE_GRAPH_DROP:
        cr_assert(r->s.graph[((const struct wire_graph_drop *)at)->graph], "a graph is dropped");
        r->s.graph[((const struct wire_graph_drop *)at)->graph] = 0;
        break;
    case WIRE_GRAPH_LAUNCH: read_graph_launch(r, at); break;
    default: break;
    }
}

/* Reads the whole log, as another worker would; returns the number of entries. */
static uint32_t read_all(struct reader *r) {
    uint64_t at = 0;
    uint32_t count = 0;
    *r = (struct reader){.number = deferred_done};
    r->s.stream[0] = true;
    for (uint32_t s = 0; s < STREAMS; s++)
        r->s.next[s] = done[s] + 1;
    for (struct log_entry *e; (e = record_log_at(&journal, at, &at)); count++)
        if (!(e->flags & (RECORD_LOG_VOID | RECORD_LOG_OVER))) read_entry(r, e);
    return count;
}

static void expect_same(void) {
    struct log found;
    struct reader r;
    record_log_attach(&found, header, memory, ROOM);
    cr_assert(record_log_find_latest(&found));
    cr_assert_eq(found.latest, journal.latest);
    cr_assert_eq(record_log_ring_next(&found), ring);
    uint32_t count = read_all(&r);
    cr_assert_leq(count, 1500, "%u entries", count);
    cr_assert_eq(r.number, deferred, "all that waits is there");
    for (uint32_t s = 0; s < STREAMS; s++)
        cr_assert_eq(r.s.next[s], now.next[s], "stream %u would go on at %lu, not %lu", s,
                     r.s.next[s], now.next[s]);
    cr_assert_arr_eq(r.s.stream, now.stream, sizeof(now.stream));
    cr_assert_arr_eq(r.s.module, now.module, sizeof(now.module));
    cr_assert_arr_eq(r.s.func, now.func, sizeof(now.func));
    cr_assert_arr_eq(r.s.placed, now.placed, sizeof(now.placed));
    cr_assert_arr_eq(r.s.texture, now.texture, sizeof(now.texture));
    cr_assert_arr_eq(r.s.graph, now.graph, sizeof(now.graph));
    cr_assert_arr_eq(r.s.block, now.block, sizeof(now.block));
    cr_assert_arr_eq(r.s.limit, now.limit, sizeof(now.limit));
    cr_assert_arr_eq(r.s.share, now.share, sizeof(now.share));
}

/* ---- histories ------------------------------------------------------------------------------- */

static void (*const acts[])(void) = {
    do_op,     do_op,    do_op,    do_op,    do_stream,       do_share,
    do_module, do_func,  do_func,  do_func,  do_texture,      do_memory,
    do_block,  do_block, do_limit, do_graph, do_graph_launch, do_graph_launch,
    do_ask,    complete, complete, complete, settle,          settle};

static void live(uint32_t steps) {
    for (uint32_t i = 0; i < steps; i++)
        acts[dice(sizeof(acts) / sizeof(*acts))]();
}

Test(recovery_log, what_is_left_makes_the_same_client) {
    for (uint64_t with = 1; with <= 300; with++) {
        begin(with);
        for (uint32_t part = 0; part < 12; part++) {
            live(1 + dice(120));
            tidy_up();
            expect_same();
            tidy_up(); /* also without records in between */
            expect_same();
        }
    }
}

static void end_all(void) {
    for (uint32_t i = 0; i < 100000; i++) {
        complete();
        settle();
    }
    cr_assert_eq(deferred, deferred_done);
}

Test(recovery_log, however_long_it_was) {
    begin(7);
    for (uint32_t part = 0; part < 40; part++) {
        live(5000);
        cr_assert_leq(atomic_load(&header->end), RECORD_LOG_FIRST_LIMIT + 4096);
    }
    cr_assert_eq(journal.limit, RECORD_LOG_FIRST_LIMIT);
    end_all();
    tidy_up();
    expect_same();
    cr_assert_leq(atomic_load(&header->end), 20000, "no more than what is alive");
}

/* The last record is handled once; the log says how far the ring was read. */
Test(recovery_log, the_latest_is_not_acted_on_again) {
    begin(1);
    void (*const pairs[])(void) = {do_stream, do_block, do_graph, do_texture, do_module};
    for (uint32_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        for (uint32_t turn = 0; turn < 200; turn++) {
            pairs[i]();
            while (deferred_done < deferred)
                settle();
            tidy_up();
            expect_same();
        }
    }
}

Test(recovery_log, what_grows_may_grow) {
    begin(3);
    for (uint32_t i = 0; i < 6000; i++) {
        struct wire_ping p = {.rec = {.op = WIRE_PING}};
        send_op(0, 0);
        put(&p, sizeof(p), 0, false);
    }
    cr_assert_gt(journal.limit, RECORD_LOG_FIRST_LIMIT);
    cr_assert_not(record_log_crowded(&journal));
    while (atomic_load(&header->end) < ROOM - ROOM / 16) {
        send_op(0, 0);
        tidy_up();
    }
    cr_assert(record_log_crowded(&journal));
    done[0] = now.next[0] - 1;
    tidy_up();
    cr_assert_lt(atomic_load(&header->end), 200);
    cr_assert_not(record_log_crowded(&journal));
    cr_assert_eq(record_log_ring_next(&journal), ring);
}

Test(recovery_log, there_is_an_end_of_room) {
    begin(4);
    struct wire_module_load l = {.rec = {.op = WIRE_MODULE_LOAD}, .image_bytes = ROOM};
    cr_assert_null(record_log_reserve(&journal, &l, sizeof(l), ROOM));
    cr_assert_null(record_log_reserve(&journal, &l, sizeof(l), UINT64_MAX - 3));
    cr_assert_not_null(record_log_reserve(&journal, &l, sizeof(l), ROOM - sizeof(l) - 40));
}

/* ---- arbitrary contents ---------------------------------------------------------------------- */

static uint32_t promises;

static int promise(struct dev *dev, uint64_t id) {
    (void)dev;
    if (id % 7 == 5) return -1;
    promises++;
    return 0;
}

static int renounce(struct dev *dev, uint64_t id) {
    (void)dev;
    (void)id;
    promises--;
    return 0;
}

static const struct dev_recovery_ops promises_of = {.chunk_promise = promise,
                                                    .chunk_renounce = (void *)renounce};
static const struct dev_ops promising = {.recovery = &promises_of};

static void use_all(void) {
    const struct log_state s = {.stream_done = done, .deferred_done = deferred_done};
    uint64_t at = 0;
    if (!record_log_find_latest(&journal)) return;
    promises = 0;
    if (module_reservation_make(&journal, &promising, NULL))
        cr_assert_eq(promises, 0);
    else
        module_reservation_release(&journal, &promising, NULL);
    cr_assert_eq(promises, 0);
    cr_assert_eq(record_log_tidy(&journal, &s), 0);
    cr_assert(record_log_whole(&journal), "whole it stays");
    while (record_log_at(&journal, at, &at)) {
    }
    record_log_ring_next(&journal);
}

static void corrupt(void) {
    uint64_t end = atomic_load(&header->end);
    for (uint32_t n = 1 + dice(6); n-- && end;) {
        uint64_t at = dice((uint32_t)end);
        if (dice(2))
            memory[at] = (unsigned char)dice(256);
        else
            memset(memory + (at & ~3ull), dice(2) ? 255 : 0, 4);
    }
    if (dice(8) == 0)
        atomic_store(&header->end, dice(2) ? dice((uint32_t)end + 64) & ~7u : ROOM + dice(64));
}

Test(recovery_log, nobody_falls_over_anything) {
    for (uint64_t with = 1; with <= 4000; with++) {
        begin(with);
        live(20 + dice(100));
        corrupt();
        use_all();
    }
}

/* The log is at the very end of its memory, with arbitrary numbers. */
Test(recovery_log, nobody_reads_on_behind_its_end) {
    for (uint64_t with = 1; with <= 20000; with++) {
        begin(with);
        uint32_t bytes = 24 + 8 * dice(8);
        struct log_entry *e = (void *)(memory + ROOM - sizeof(*e) - bytes);
        struct wire_record *r = (void *)(e + 1);
        uint64_t fill = ROOM - sizeof(*e) - bytes;
        struct wire_module_load load = {.rec = {.op = WIRE_MODULE_LOAD}};
        load.image_bytes = fill - sizeof(*e) - sizeof(load);
        record_log_commit(&journal,
                          record_log_reserve(&journal, &load, sizeof(load), load.image_bytes));
        *e = (struct log_entry){.bytes = bytes};
        for (uint32_t i = 0; i < bytes / 4; i++)
            ((uint32_t *)(void *)r)[i] = dice(4) ? dice(3) : dice(2) ? UINT32_MAX : dice(1u << 31);
        r->op = dice(3) ? (uint16_t)(1 + dice(48)) : RECORD_LOG_PLACED;
        atomic_store(&header->end, ROOM);
        use_all();
    }
}

static uint64_t count_shows(uint64_t *launches_before) {
    uint64_t at = 0, count = 0;
    *launches_before = 0;
    for (struct log_entry *e; (e = record_log_at(&journal, at, &at));) {
        *launches_before += record_log_record(e)->op == WIRE_LAUNCH && !count;
        count += record_log_record(e)->op == WIRE_HOST_SHOW;
    }
    return count;
}

/* Host memory that was registered with the device is registered again, once, before the
 * operations that need it. */
Test(recovery_log, what_was_shown_stays_shown) {
    static const uint64_t places[][2] = {{4096, 64}, {8192, 64}, {4096, 128}, {4096, 64}};
    uint64_t launches;
    begin(1);
    for (uint32_t i = 0; i < 40; i++) {
        struct wire_mem m = {
            .rec.op = WIRE_HOST_SHOW, .addr = places[i % 4][0], .bytes = places[i % 4][1]};
        put(&m, sizeof(m), 0, false);
        send_op(0, 0);
        tidy_up();
    }
    cr_expect_eq(count_shows(&launches), 3);
    cr_expect_eq(launches, 0);
    done[0] = now.next[0];
    do_ask();
    tidy_up();
    cr_expect_eq(count_shows(&launches), 3);
}
