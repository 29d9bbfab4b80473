/* Figures that synth/ is held to. */
#ifndef YIELDPOINT_TESTS_SYNTH_KNOWN_ANSWERS_H
#define YIELDPOINT_TESTS_SYNTH_KNOWN_ANSWERS_H

#include <stdint.h>

/* Random123 1.14.0, tests/kat_vectors, the lines "philox4x32 10". */
static const struct philox_answer {
    uint32_t counter[4], key[2], words[4];
} philox_answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

/* Hashes of this code's own output, the same from gcc 12 and clang 14 at -O0, -O1, -O2, -O3 and at
 * every instruction level. A change here means that every stored result with a data hash is of
 * other data: change it knowingly. */
#define NORMALS_HASH UINT64_C(0xa256aef5425b0fad)
#define MIXING_HASH UINT64_C(0x78fd5f989d632f51)
/* Channels as points, fwhm_nm OFF. */
#define MIXING_POINTS_HASH UINT64_C(0xa7b9a3f954b89b0b)
#define CUVIS_HASH UINT64_C(0x98bd70ff34d7f3ab)

#endif
