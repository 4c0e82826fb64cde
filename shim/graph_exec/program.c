/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends, launches and retires programs.
 */
#include "shim/graph_exec/program.h"

#include <stdlib.h>
#include <string.h>

#include "shim/code/function.h"
#include "shim/connection/refuse.h"
#include "shim/connection/submit.h"
#include "shim/context/event.h"
#include "shim/context/hostfunc.h"
#include "shim/context/stream.h"
#include "shim/context/trace.h"
#include "shim/graph/address_range.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/graph_exec/compile.h"
#include "shim/lock.h"
#include "shim/memory/fifo.h"
#include "shim/table.h"

struct program {
    uint32_t age;  /* function_age when the program was built */
    uint32_t busy; /* launches that are being sent */
    struct compile written;
    struct part *first;        /* all parts; the last one is launched, the others are bodies */
    struct program_point last; /* the end of its latest launch */
    struct program *next;      /* link in the list of retired programs */
    struct graph *with;
};

static struct {
    uint64_t taken[WIRE_GRAPHS / 64]; /* one bit for each id */
    uint64_t bytes;                   /* size of all programs that the worker has */
    _Atomic(struct program *) retired;
} programs;

/* ---- ids ------------------------------------------------------------------------------------- */

/* A body without records needs no id. */
static CUresult take_id(struct part *p) {
    if (p->used == 0) return CUDA_SUCCESS;
    if (p->used > WIRE_GRAPH_BYTES - programs.bytes) {
        refuse_more(REFUSE_GRAPH_BYTES, WIRE_GRAPH_BYTES);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    uint32_t most = table_most(WIRE_GRAPHS, WIRE_GRAPHS_FIRST);
    for (uint32_t i = 0; i < most / 64; i++) {
        if (programs.taken[i] == UINT64_MAX) continue;
        uint32_t bit = (uint32_t)__builtin_ctzll(~programs.taken[i]);
        programs.taken[i] |= 1ull << bit;
        programs.bytes += p->used;
        p->id = i * 64 + bit;
        return CUDA_SUCCESS;
    }
    refuse_more(REFUSE_GRAPHS, most);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void give_id(const struct part *p) {
    if (p->used == 0) return;
    programs.taken[p->id / 64] &= ~(1ull << p->id % 64);
    programs.bytes -= p->used;
}

/* Takes ids for all parts or none. */
static CUresult take_ids(struct part *first) {
    for (struct part *p = first; p; p = p->next) {
        CUresult r = take_id(p);
        if (!r) continue;
        for (struct part *given = first; given != p; given = given->next)
            give_id(given);
        return r;
    }
    return CUDA_SUCCESS;
}

/* ---- building -------------------------------------------------------------------------------- */

/* The caller holds the lock. */
static void free_program(struct program *p) {
    compile_free(&p->written);
    free(p);
}

/* Returns the last part of the list. Parts are in the reverse order of their creation, so the
 * launched part comes last, as the worker requires. */
static struct part *last_of(struct part *p) {
    while (p && p->next)
        p = p->next;
    return p;
}

static void say_what_stays(const struct compile *written) {
    for (uint32_t i = 0; i < written->effect_count; i++) {
        const struct compile_effect *e = &written->effects[i];
        if (e->memory->room && e->after) e->memory->room->stays = true;
    }
}

CUresult program_build(struct graph *g, uint64_t handle, struct program **out,
                       struct function **ask) {
    struct program *p = calloc(1, sizeof(*p));
    *ask = NULL;
    if (!p) return CUDA_ERROR_OUT_OF_MEMORY;
    p->age = atom_load_acquire(&function_age);
    p->written.handle = handle;
    CUresult r = compile_graph(g, &p->written);
    if (!r) r = take_ids(p->written.first);
    if (r) {
        *ask = p->written.ask;
        free_program(p);
        return r;
    }
    p->first = last_of(p->written.first);
    say_what_stays(&p->written);
    for (struct part *q = p->written.first; q; q = q->next)
        part_number_choices(q);
    *out = p;
    return CUDA_SUCCESS;
}

int program_current(const struct program *p) {
    return p->age == atom_load_acquire(&function_age);
}

static CUresult say_part(const struct part *p) {
    CUresult r = CUDA_SUCCESS;
    for (uint64_t at = 0; !r && at < p->used; at += WIRE_GRAPH_PIECE) {
        uint64_t left = p->used - at;
        struct wire_graph_data rec = {
            .rec = {.op = WIRE_GRAPH_DATA},
            .graph = p->id,
            .piece_bytes = (uint32_t)(left < WIRE_GRAPH_PIECE ? left : WIRE_GRAPH_PIECE),
            .offset = at,
            .total_bytes = p->used,
        };
        r = submit_record(&rec, sizeof(rec), p->bytes + at, rec.piece_bytes);
    }
    return r;
}

static CUresult offer(uint64_t handle, const struct part *p) {
    struct wire_graph_offer rec = {.rec = {.op = WIRE_GRAPH_OFFER},
                                   .handle = handle,
                                   .graph = p && p->used ? p->id : WIRE_GRAPH_NONE};
    return submit_record(&rec, sizeof(rec), NULL, 0);
}

void program_withdraw(uint64_t handle) {
    offer(handle, NULL);
}

CUresult program_say(struct program *p) {
    CUresult r = CUDA_SUCCESS;
    for (const struct part *q = p->written.first; !r && q; q = q->next)
        r = say_part(q);
    return r || !p->written.offered ? r : offer(p->written.handle, p->written.offered);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The tail of a launch: lanes, then waits. */
struct launch_tail {
    uint32_t bytes;
    uint64_t room[WIRE_GRAPH_LANES * sizeof(struct wire_graph_lane) / 8 +
                  WIRE_GRAPH_WAITS * sizeof(struct wire_graph_wait) / 8];
};

/* Fills in what each wait is for at this moment. */
static CUresult fill_waits(const struct part *p, const struct stream *s,
                           const struct program_point *after, struct wire_graph_wait *waits) {
    bool behind = after->stream != s->id && !submit_done(after->stream, after->seq);
    waits[0] = (struct wire_graph_wait){.on = behind ? after->stream : 0,
                                        .on_seq = behind ? after->seq : 0};
    for (uint32_t i = 0; i < p->wait_count; i++) {
        const struct event *e = event_find(p->waits[i]);
        if (!e) return CUDA_ERROR_INVALID_HANDLE;
        struct stamp_point at = event_point(e);
        waits[i + 1] = (struct wire_graph_wait){.on = at.stream, .on_seq = at.seq};
    }
    return CUDA_SUCCESS;
}

static CUresult check_events(const struct part *p) {
    for (uint32_t i = 0; i < p->record_count; i++) {
        const struct event *e = event_find(p->records[i].event);
        if (!e || e->id != p->records[i].id) return CUDA_ERROR_INVALID_HANDLE;
    }
    return CUDA_SUCCESS;
}

static void set_events(const struct part *p, const struct wire_graph_lane *lanes) {
    for (uint32_t i = 0; i < p->record_count; i++) {
        const struct part_record *rec = &p->records[i];
        struct event *e = event_find(rec->event);
        if (e) event_set(e, lanes[rec->lane].stream, lanes[rec->lane].first_seq - 1 + rec->seq);
    }
}

static CUresult fill_lanes(struct stream *s, uint32_t count, struct wire_graph_lane *lanes) {
    uint32_t ids[WIRE_GRAPH_LANES];
    CUresult r = stream_lanes(s, count, ids);
    for (uint32_t i = 0; !r && i < count; i++)
        lanes[i] = (struct wire_graph_lane){.stream = ids[i]};
    return r;
}

bool program_awaited(const struct program *p) {
    return p->first->awaited;
}

uint64_t program_early_bytes(const struct program *p) {
    return p->first->early_bytes;
}

static CUresult expect_functions(const struct part *p, uint64_t *first) {
    if (!p->early_bytes) return hostfunc_expect(p->functions, p->function_count, first);
    struct hostfunc *list = part_read(p);
    CUresult r = list ? hostfunc_expect(list, p->function_count, first) : CUDA_ERROR_OUT_OF_MEMORY;
    free(list);
    return r;
}

CUresult program_launch(struct program *program, struct stream *s, struct program_point *after) {
    const struct part *p = program->first;
    struct launch_tail tail;
    struct wire_graph_launch head = {
        .rec = {.op = WIRE_GRAPH_LAUNCH},
        .graph = p->id,
        .lanes = (uint16_t)lanes_used(&p->lanes),
        .waits = (uint16_t)(p->wait_count + 1),
    };
    struct wire_graph_lane *lanes = (struct wire_graph_lane *)tail.room;
    struct wire_graph_wait *waits = (struct wire_graph_wait *)(lanes + head.lanes);
    tail.bytes = (uint32_t)(head.lanes * sizeof(*lanes) + head.waits * sizeof(*waits));
    CUresult r = check_events(p);
    if (!r) r = fill_lanes(s, head.lanes, lanes);
    if (!r) r = fill_waits(p, s, after, waits);
    if (!r) r = expect_functions(p, &head.first_token);
    if (r) return r;
    if (program->written.calls) fifo_launch(program->written.calls);
    r = submit_graph(&head, lanes, p->lanes.count, tail.bytes);
    trace_graph();
    if (r) {
        hostfunc_forget(head.first_token, p->function_count);
        return r;
    }
    set_events(p, lanes);
    *after = (struct program_point){s->id, lanes[0].first_seq - 1 + p->lanes.count[0]};
    program->last = *after;
    return CUDA_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool may_begin(const struct compile_effect *e, bool again) {
    const struct graph_memory *m = e->memory;
    return !m->gone && !m->changing && (m->live == e->before || (again && m->live));
}

/* Leaves the rooms of the first `count` effects. */
static void leave_rooms(const struct program *p, uint32_t count, uint32_t stream, uint64_t seq) {
    for (uint32_t i = 0; i < count; i++) {
        struct address_range *r = p->written.effects[i].memory->room;
        if (r) address_range_leave(r, stream, seq);
    }
}

/* Enters all rooms or none. */
static bool enter_rooms(const struct program *p, uint32_t stream, uint64_t *missing) {
    for (uint32_t i = 0; i < p->written.effect_count; i++) {
        struct address_range *r = p->written.effects[i].memory->room;
        if (!r || address_range_enter(r, stream, missing)) continue;
        leave_rooms(p, i, stream, 0);
        return false;
    }
    return true;
}

static void begin_effect(const struct compile_effect *e) {
    if (e->memory->live != e->before) graph_memory_rest(e->memory);
    graph_memory_set(e->memory, e->after);
    e->memory->changing = e->before != e->after;
}

static void end_effect(const struct compile_effect *e, bool sent) {
    e->memory->changing = false;
    if (!sent) graph_memory_set(e->memory, e->before);
}

CUresult program_begin_memory(const struct program *p, int again, uint32_t stream,
                              uint64_t *missing) {
    *missing = 0;
    for (uint32_t i = 0; i < p->written.effect_count; i++)
        if (!may_begin(&p->written.effects[i], again)) return CUDA_ERROR_INVALID_VALUE;
    if (!enter_rooms(p, stream, missing)) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < p->written.effect_count; i++)
        begin_effect(&p->written.effects[i]);
    return CUDA_SUCCESS;
}

void program_end_memory(const struct program *p, uint32_t stream, uint64_t seq) {
    for (uint32_t i = 0; i < p->written.effect_count; i++)
        end_effect(&p->written.effects[i], seq != 0);
    leave_rooms(p, p->written.effect_count, stream, seq);
}

/* ---- retired --------------------------------------------------------------------------------- */

void program_hold(struct program *p) {
    p->busy++;
}

void program_drop(struct program *p) {
    p->busy--;
}

void program_retire(struct program *p, struct graph *with) {
    p->with = with;
    p->next = atom_load_relaxed(&programs.retired);
    atom_store_relaxed(&programs.retired, p);
}

static bool is_done(const struct program *p) {
    return !p->busy && submit_done(p->last.stream, p->last.seq);
}

/* Takes programs off the list that are no longer in use. */
static struct program *take_done(void) {
    struct program *done = NULL, *rest = NULL;
    for (struct program *p = atom_load_relaxed(&programs.retired), *next; p; p = next) {
        struct program **to = is_done(p) ? &done : &rest;
        next = p->next;
        p->next = *to;
        *to = p;
    }
    atom_store_relaxed(&programs.retired, rest);
    return done;
}

/* Tells the worker to drop the program. Its ids are free only after that. */
static void forget(const struct program *p) {
    for (const struct part *q = p->written.first; q; q = q->next) {
        struct wire_graph_drop rec = {.rec = {.op = WIRE_GRAPH_DROP}, .graph = q->id};
        if (q->used == 0) continue;
        submit_record(&rec, sizeof(rec), NULL, 0);
        lock_enter(&graph_lock);
        give_id(q);
        lock_leave(&graph_lock);
    }
}

void program_reap(void) {
    if (!atom_load_relaxed(&programs.retired)) return;
    lock_enter(&graph_lock);
    struct program *done = take_done();
    lock_leave(&graph_lock);
    for (struct program *p = done, *next; p; p = next) {
        next = p->next;
        forget(p);
        lock_enter(&graph_lock);
        graph_free(p->with);
        free_program(p);
        lock_leave(&graph_lock);
    }
    if (done) user_object_destroy_unheld();
}
