/* At build time: files as arrays of C, for a program that carries them, and the digest by which a
 * page's Content-Security-Policy knows its script.
 *
 * usage: embed OUTPUT HEADER PREFIX {NAME FILE...}...
 *
 * HEADER declares the arrays PREFIX_NAME. A name has no dot; the files after it follow each other
 * in its array. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- SHA-256 (FIPS 180-4) ---------------------------------------------------------------------- */

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t right(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void mix(uint32_t h[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4];
        uint32_t a = v[0];
        uint32_t one = v[7] + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) +
                       ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
        uint32_t two =
            (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

static void digest(unsigned char out[33], const unsigned char *data, size_t size)
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char end[128] = {0};
    size_t left = size % 64;
    size_t last = left < 56 ? 64 : 128;
    for (size_t at = 0; at + 64 <= size; at += 64)
        mix(h, data + at);
    if (left > 0)
        memcpy(end, data + size - left, left);
    end[left] = 0x80;
    for (size_t i = 0; i < 8; i++)
        end[last - 1 - i] = (unsigned char)((uint64_t)size * 8 >> 8 * i);
    for (size_t at = 0; at < last; at += 64)
        mix(h, end + at);
    for (int i = 0; i < 32; i++)
        out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
    out[32] = 0;
}

/* RFC 4648, section 4, of 32 bytes. */
static void base64(char out[45], const unsigned char bytes[33])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < 11; i++) {
        uint32_t three = (uint32_t)bytes[3 * i] << 16 | (uint32_t)bytes[3 * i + 1] << 8 |
                         (i < 10 ? bytes[3 * i + 2] : 0U);
        for (int j = 0; j < 4; j++)
            out[4 * i + j] = letters[three >> (18 - 6 * j) & 63];
    }
    out[43] = '=';
    out[44] = '\0';
}

/* -- the files --------------------------------------------------------------------------------- */

struct bytes {
    unsigned char *data;
    size_t size;
};

static void append(struct bytes *all, const char *path)
{
    const size_t room = 1 << 20; /* of a file */
    FILE *file = fopen(path, "rb");
    unsigned char *data = realloc(all->data, all->size + room);
    size_t size = file != NULL && data != NULL ? fread(data + all->size, 1, room, file) : room;
    if (size == room || ferror(file)) {
        perror(path);
        exit(1);
    }
    (void)fclose(file);
    all->data = data;
    all->size += size;
}

static void embed(FILE *out, const char *prefix, const char *name, const struct bytes *all)
{
    unsigned char sum[33];
    char text[45];
    digest(sum, all->data, all->size);
    base64(text, sum);
    fprintf(out, "const char %s_%s_sha256[] = \"%s\";\nconst char %s_%s[] = {", prefix, name, text,
            prefix, name);
    for (size_t i = 0; i < all->size; i++)
        fprintf(out, "%s%d,", i % 20 == 0 ? "\n" : "",
                all->data[i] < 128 ? all->data[i] : all->data[i] - 256);
    fprintf(out, "\n0};\n");
}

int main(int argc, char **argv)
{
    FILE *out = argc > 5 ? fopen(argv[1], "w") : NULL;
    if (out == NULL) {
        perror(argc > 5 ? argv[1] : "usage: embed OUTPUT HEADER PREFIX {NAME FILE...}...");
        return 1;
    }
    fprintf(out, "#include \"%s\"\n", argv[2]);
    for (int i = 4; i < argc;) {
        struct bytes all = {NULL, 0};
        const char *name = argv[i++];
        while (i < argc && strchr(argv[i], '.') != NULL)
            append(&all, argv[i++]);
        embed(out, argv[3], name, &all);
        free(all.data);
    }
    return fclose(out) == 0 ? 0 : 1;
}
