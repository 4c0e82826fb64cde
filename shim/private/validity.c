/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer to the runtime's validity check, for interoperability: without it no program that uses
 * the CUDA runtime starts. The answer is public: ZLUDA and Lupine publish it. For one version it is
 * a constant, otherwise HMAC-MD2 (RFC 2104 over RFC 1319) with a published key over facts that both
 * sides know. No other file depends on this one; build with DRIVER_VALIDITY=0 to leave it out.
 */
#include "shim/private/validity.h"

#ifndef DRIVER_VALIDITY
#define DRIVER_VALIDITY 1
#endif

#if DRIVER_VALIDITY

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "shim/connection/state.h"
#include "shim/device/device_view.h"

#define MD2_BLOCK 16
#define MD2_ROUNDS 18

/* RFC 1319: a permutation made from the digits of pi. */
static const unsigned char pi_digits[256] = {
    0x29, 0x2e, 0x43, 0xc9, 0xa2, 0xd8, 0x7c, 0x01, 0x3d, 0x36, 0x54, 0xa1, 0xec, 0xf0, 0x06, 0x13,
    0x62, 0xa7, 0x05, 0xf3, 0xc0, 0xc7, 0x73, 0x8c, 0x98, 0x93, 0x2b, 0xd9, 0xbc, 0x4c, 0x82, 0xca,
    0x1e, 0x9b, 0x57, 0x3c, 0xfd, 0xd4, 0xe0, 0x16, 0x67, 0x42, 0x6f, 0x18, 0x8a, 0x17, 0xe5, 0x12,
    0xbe, 0x4e, 0xc4, 0xd6, 0xda, 0x9e, 0xde, 0x49, 0xa0, 0xfb, 0xf5, 0x8e, 0xbb, 0x2f, 0xee, 0x7a,
    0xa9, 0x68, 0x79, 0x91, 0x15, 0xb2, 0x07, 0x3f, 0x94, 0xc2, 0x10, 0x89, 0x0b, 0x22, 0x5f, 0x21,
    0x80, 0x7f, 0x5d, 0x9a, 0x5a, 0x90, 0x32, 0x27, 0x35, 0x3e, 0xcc, 0xe7, 0xbf, 0xf7, 0x97, 0x03,
    0xff, 0x19, 0x30, 0xb3, 0x48, 0xa5, 0xb5, 0xd1, 0xd7, 0x5e, 0x92, 0x2a, 0xac, 0x56, 0xaa, 0xc6,
    0x4f, 0xb8, 0x38, 0xd2, 0x96, 0xa4, 0x7d, 0xb6, 0x76, 0xfc, 0x6b, 0xe2, 0x9c, 0x74, 0x04, 0xf1,
    0x45, 0x9d, 0x70, 0x59, 0x64, 0x71, 0x87, 0x20, 0x86, 0x5b, 0xcf, 0x65, 0xe6, 0x2d, 0xa8, 0x02,
    0x1b, 0x60, 0x25, 0xad, 0xae, 0xb0, 0xb9, 0xf6, 0x1c, 0x46, 0x61, 0x69, 0x34, 0x40, 0x7e, 0x0f,
    0x55, 0x47, 0xa3, 0x23, 0xdd, 0x51, 0xaf, 0x3a, 0xc3, 0x5c, 0xf9, 0xce, 0xba, 0xc5, 0xea, 0x26,
    0x2c, 0x53, 0x0d, 0x6e, 0x85, 0x28, 0x84, 0x09, 0xd3, 0xdf, 0xcd, 0xf4, 0x41, 0x81, 0x4d, 0x52,
    0x6a, 0xdc, 0x37, 0xc8, 0x6c, 0xc1, 0xab, 0xfa, 0x24, 0xe1, 0x7b, 0x08, 0x0c, 0xbd, 0xb1, 0x4a,
    0x78, 0x88, 0x95, 0x8b, 0xe3, 0x63, 0xe8, 0x6d, 0xe9, 0xcb, 0xd5, 0xfe, 0x3b, 0x00, 0x1d, 0x39,
    0xf2, 0xef, 0xb7, 0x0e, 0x66, 0x58, 0xd0, 0xe4, 0xa6, 0x77, 0x72, 0xf8, 0xeb, 0x75, 0x4b, 0x0a,
    0x31, 0x44, 0x50, 0xb4, 0x8f, 0xed, 0x1f, 0x1a, 0xdb, 0x99, 0x8d, 0x33, 0x9f, 0x11, 0x83, 0x14,
};

struct md2 {
    unsigned char state[3 * MD2_BLOCK], checksum[MD2_BLOCK], pending[MD2_BLOCK];
    size_t pending_bytes;
};

static void md2_block(struct md2 *m, const unsigned char *block) {
    unsigned char last = m->checksum[MD2_BLOCK - 1];
    for (int i = 0; i < MD2_BLOCK; i++)
        last = m->checksum[i] ^= pi_digits[block[i] ^ last];
    for (int i = 0; i < MD2_BLOCK; i++) {
        m->state[MD2_BLOCK + i] = block[i];
        m->state[2 * MD2_BLOCK + i] = m->state[i] ^ block[i];
    }
    unsigned int t = 0;
    for (unsigned int round = 0; round < MD2_ROUNDS; round++) {
        for (int i = 0; i < 3 * MD2_BLOCK; i++)
            t = m->state[i] ^= pi_digits[t];
        t = (t + round) & 0xff;
    }
}

static void md2_add(struct md2 *m, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) {
        m->pending[m->pending_bytes++] = p[i];
        if (m->pending_bytes < MD2_BLOCK) continue;
        md2_block(m, m->pending);
        m->pending_bytes = 0;
    }
}

static void md2_end(struct md2 *m, unsigned char *digest) {
    unsigned char padding[MD2_BLOCK], checksum[MD2_BLOCK];
    size_t pad = MD2_BLOCK - m->pending_bytes;
    memset(padding, (int)pad, pad);
    md2_add(m, padding, pad);
    memcpy(checksum, m->checksum, sizeof(checksum));
    md2_block(m, checksum);
    memcpy(digest, m->state, MD2_BLOCK);
}

/* The facts that both sides know, in the order and width that the runtime uses. */
struct facts {
    uint32_t driver_version, version, pid, thread;
    struct validity_addresses at;
    uint64_t time;
    struct {
        unsigned char uuid[16];
        int32_t domain, bus, slot;
    } device;
};

/* Collects the facts. The process id is read each time, because the answer must hold after a fork.
 */
static void collect(struct facts *f, const struct validity_addresses *at, uint32_t version,
                    uint64_t time) {
    memset(f, 0, sizeof(*f));
    f->driver_version = CUDA_VERSION;
    f->version = version;
    f->pid = (uint32_t)getpid();
    f->thread = (uint32_t)(uintptr_t)pthread_self();
    f->at = *at;
    f->time = time;
    memcpy(f->device.uuid, state.conn.device.uuid, sizeof(f->device.uuid));
    f->device.domain = device_view(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
    f->device.bus = device_view(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    f->device.slot = device_view(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
}

static void keyed(struct md2 *m, unsigned char pad) {
    static const unsigned char key[MD2_BLOCK] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                                 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
    unsigned char block[MD2_BLOCK];
    for (int i = 0; i < MD2_BLOCK; i++)
        block[i] = key[i] ^ pad;
    memset(m, 0, sizeof(*m));
    md2_add(m, block, sizeof(block));
}

bool validity_built(void) {
    return true;
}

CUresult validity_answer(const struct validity_addresses *at, uint32_t version, uint64_t time,
                         uint64_t out[2]) {
    out[0] = version % 10 == 0 ? 0x3341181c03cb675c : 0x1841181c03cb675c;
    out[1] = 0x8ed383aa1f4cd1e8;
    if (version % 10 <= 1) return CUDA_SUCCESS;
    struct facts facts;
    struct md2 m;
    unsigned char inner[MD2_BLOCK];
    collect(&facts, at, version, time);
    keyed(&m, 0x36);
    md2_add(&m, &facts, offsetof(struct facts, device) + sizeof(facts.device));
    md2_end(&m, inner);
    keyed(&m, 0x5c);
    md2_add(&m, inner, sizeof(inner));
    md2_end(&m, (unsigned char *)out);
    return CUDA_SUCCESS;
}

#else

bool validity_built(void) {
    return false;
}

CUresult validity_answer(const struct validity_addresses *at, uint32_t version, uint64_t time,
                         uint64_t out[2]) {
    return CUDA_ERROR_NOT_SUPPORTED;
}

#endif
