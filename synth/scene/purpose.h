/* Which subsequence of a seed a random number of a cube comes from. */
#pragma once

#include "base/random/philox.h"

/* The purpose of a subsequence. Its number is part of the data: a new purpose takes a new one. */
enum synth_purpose {
    SYNTH_NOISE = 0,     /* a normal per value of the cube */
    SYNTH_FIELD = 1,     /* SYNTH_LANES normals per node of the abundance lattice */
    SYNTH_TARGET = 2,    /* two words per pixel: whether a target and of which material, its fill */
    SYNTH_SPECTRA = 3,   /* of cube 0: the spectra, which all cubes of a seed share */
    SYNTH_DISCS = 4,     /* four words per disc of anomalies: row, column, radius, unused */
    SYNTH_PSI_LEVEL = 5, /* SYNTH_LANES normals per node: how bright each material is there */
    SYNTH_PSI_SLOPE = 6, /* the same for how far its shape departs */
    SYNTH_COLUMNS = 7,   /* of cube 0: two normals per column and channel of the sensor */
    SYNTH_DEAD = 8,      /* of cube 0: a word per pixel */
    SYNTH_GRAIN = 9,     /* a normal per pixel */
    SYNTH_ELEMENTS = 10, /* of cube 0: a word per column and channel of the sensor */
    SYNTH_GRAINS = 11,   /* a normal per node of the lattice of grain */
    SYNTH_CELLS = 12,    /* four words, then eight per cell of targets of several pixels */
    SYNTH_PURPOSES = 16,
};

/* Cube numbers are below this: further ones would share subsequences. */
#define SYNTH_CUBES (UINT64_C(1) << 60)

YPI_INLINE struct ypi_stream synth_stream(uint64_t seed, uint64_t cube, enum synth_purpose purpose)
{
    struct ypi_stream stream = {seed, cube * SYNTH_PURPOSES + (uint64_t)purpose};
    return stream;
}
