/* NVIDIA's cuRAND, where it is installed: found and called at run time, on the host, so that
 * neither a GPU nor its header is needed. Constants and prototypes: cuRAND Library, API reference.
 */
#ifndef UNIT_CURAND_H
#define UNIT_CURAND_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CURAND_PHILOX4_32_10 = 161, CURAND_BEST = 100, CURAND_DEFAULT = 101, CURAND_LEGACY = 103 };

typedef void *curand_generator;

/* Each returns 0 when all is well. */
struct curand {
    int (*create)(curand_generator *, int type); /* curandCreateGeneratorHost */
    int (*seed)(curand_generator, unsigned long long);
    int (*offset)(curand_generator, unsigned long long);
    int (*order)(curand_generator, int);
    int (*generate)(curand_generator, unsigned *, size_t);
    int (*destroy)(curand_generator);
};

/* In `toolkit`, which has bin/, where the toolkit's packages put libraries. */
static void *curand_load_from(const char *toolkit)
{
    static const char *const places[] = {"lib64", "lib", "targets/x86_64-linux/lib",
                                         "targets/sbsa-linux/lib"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && library == NULL; i++) {
        char path[4096 + 64];
        snprintf(path, sizeof path, "%s/%s/libcurand.so.10", toolkit, places[i]);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* Beside the first nvcc on PATH. */
static void *curand_load_by_nvcc(void)
{
    const char *at = getenv("PATH");
    void *library = NULL;
    while (at != NULL && *at != '\0' && library == NULL) {
        char nvcc[4096], found[4096];
        int length = (int)strcspn(at, ":");
        snprintf(nvcc, sizeof nvcc, "%.*s/nvcc", length, at);
        at += length + (at[length] == ':');
        if (access(nvcc, X_OK) != 0 || realpath(nvcc, found) == NULL)
            continue;
        for (int up = 0; up < 2; up++)
            *strrchr(found, '/') = '\0';
        library = curand_load_from(found);
    }
    return library;
}

static bool curand_symbol(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* False where there is none. It stays loaded. */
static bool curand_open(struct curand *lib)
{
    void *library = dlopen("libcurand.so.10", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        library = curand_load_by_nvcc();
    return library != NULL && curand_symbol(library, "curandCreateGeneratorHost", &lib->create) &&
           curand_symbol(library, "curandSetPseudoRandomGeneratorSeed", &lib->seed) &&
           curand_symbol(library, "curandSetGeneratorOffset", &lib->offset) &&
           curand_symbol(library, "curandSetGeneratorOrdering", &lib->order) &&
           curand_symbol(library, "curandGenerate", &lib->generate) &&
           curand_symbol(library, "curandDestroyGenerator", &lib->destroy);
}

/* NULL when the library refuses. */
static curand_generator curand_new(const struct curand *lib, uint64_t seed, uint64_t offset,
                                   int order)
{
    curand_generator generator = NULL;
    if (lib->create(&generator, CURAND_PHILOX4_32_10) != 0 || lib->seed(generator, seed) != 0 ||
        lib->order(generator, order) != 0 || lib->offset(generator, offset) != 0)
        return NULL;
    return generator;
}

#endif
