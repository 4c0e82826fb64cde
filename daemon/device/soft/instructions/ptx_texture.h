/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions that read textures and read and write surfaces: tex, tld4, txq, suld, sust, sured,
 * suq, istypep. Finds the existing forms and their operands. Source: "Parallel Thread Execution
 * ISA", "Texture Instructions" and "Surface Instructions"; ptxas where the text leaves a gap.
 */
#ifndef DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_TEXTURE_H
#define DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/instructions/ptx_rules.h"

enum ptx_texture_verb {
    PTX_TEXTURE_OTHER, /* PTX, but not run here: several samples per texel */
    PTX_TEXTURE_FETCH,
    PTX_TEXTURE_GATHER, /* one component of the four texels that a bilinear filter takes */
    PTX_TEXTURE_QUERY,  /* query of a texture or surface */
    PTX_TEXTURE_LOAD,   /* the next three are for surfaces */
    PTX_TEXTURE_STORE,
    PTX_TEXTURE_REDUCE,
    PTX_TEXTURE_TYPE, /* istypep */
};

/* Geometries, in the order of their names in ptx_texture.c. */
enum ptx_geometry {
    PTX_GEOMETRY_1D,
    PTX_GEOMETRY_2D,
    PTX_GEOMETRY_3D,
    PTX_GEOMETRY_A1D, /* A: an array of layers */
    PTX_GEOMETRY_A2D,
    PTX_GEOMETRY_CUBE,
    PTX_GEOMETRY_ACUBE,
};

enum ptx_lod { PTX_LOD_BASE, PTX_LOD_LEVEL, PTX_LOD_GRAD };

/* Behaviour beyond a surface's edges. */
enum ptx_beyond { PTX_BEYOND_TRAP, PTX_BEYOND_CLAMP, PTX_BEYOND_ZERO };

enum ptx_query {
    PTX_QUERY_WIDTH,
    PTX_QUERY_HEIGHT,
    PTX_QUERY_DEPTH,
    PTX_QUERY_CHANNEL_DATA_TYPE,
    PTX_QUERY_CHANNEL_ORDER,
    PTX_QUERY_NORMALIZED_COORDS,
    PTX_QUERY_ARRAY_SIZE,
    PTX_QUERY_NUM_MIPMAP_LEVELS,
    PTX_QUERY_NUM_SAMPLES,
    PTX_QUERY_FORCE_UNNORMALIZED_COORDS,
    PTX_QUERY_FILTER_MODE,
    PTX_QUERY_ADDR_MODE_0,
    PTX_QUERY_ADDR_MODE_1,
    PTX_QUERY_ADDR_MODE_2,
    PTX_QUERY_MEMORY_LAYOUT,
};

struct ptx_texture {
    uint8_t verb, geometry, lod, beyond, query;
    uint8_t component; /* GATHER: 0 to 3 */
    uint8_t reduction; /* enum ptx_sub */
    uint8_t object;    /* enum ptx_opaque: the kind of object that the handle must name */
    bool surface;      /* a query of a surface */
    bool formatted;    /* .p: x counts elements and not bytes */
    uint8_t type;      /* enum ptx_type of d, or of the value that is stored */
    uint8_t ctype;     /* type of coordinates: PTX_F32 or PTX_S32 */
    uint8_t elements;  /* number of elements of d, or of the value that is stored */
};

/* Number of coordinates of the geometry, layer included. A vector of 3 is written with 4
 * elements. */
uint32_t ptx_geometry_coords(enum ptx_geometry g);
/* True if the first coordinate is a layer. */
bool ptx_geometry_layered(enum ptx_geometry g);

/* True for the operations that this file knows. */
bool ptx_texture_is(enum ptx_op op);
/* Matches `text` against the forms of `op`. Returns false with `why` filled if none fits. */
bool ptx_texture_find(enum ptx_op op, const char *text, struct ptx_texture *out, char *why,
                      size_t why_bytes);
/* As ptx_texture_find, and fills `sig` with the permitted operands, like ptx_rules_match. `sig` is
 * open where the form is not run here. */
bool ptx_texture_match(enum ptx_op op, const char *text, struct ptx_sig *sig, char *why,
                       size_t why_bytes);

#endif
