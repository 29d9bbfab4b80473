/* Files of named tensors in the .safetensors format (Hugging Face, version 0.4): eight bytes with
 * the length of a header, the header in JSON, and the tensors' bytes one behind the other, in the
 * order of the machine's memory on little-endian ones. What the header says is checked before
 * anything is read: sizes that are not the shape's, ranges that overlap, leave gaps or go beyond
 * the file's end. A tensor of a type that is not known here, as BOOL, makes no file unreadable. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#define SAFETENSORS_DIMS 8
#define SAFETENSORS_NAME 128 /* with its end */

enum safetensors_type {
    SAFETENSORS_F64 = 0,
    SAFETENSORS_F32,
    SAFETENSORS_F16,
    SAFETENSORS_BF16,
    SAFETENSORS_I64,
    SAFETENSORS_I32,
    SAFETENSORS_U8,
    SAFETENSORS_TYPES,
    SAFETENSORS_OTHER = SAFETENSORS_TYPES /* of a file: it has a place, and is not read */
};

/* "F64", and bytes of an element; of SAFETENSORS_OTHER "another type", and 0. */
const char *safetensors_type_name(enum safetensors_type type);
size_t safetensors_type_bytes(enum safetensors_type type);

struct safetensors_tensor {
    char name[SAFETENSORS_NAME];
    enum safetensors_type type;
    size_t dims; /* 0: one number */
    uint64_t shape[SAFETENSORS_DIMS];
    uint64_t offset, bytes; /* behind the header; a writer computes them */
};

uint64_t safetensors_elements(const struct safetensors_tensor *tensor);

/* -- reading ----------------------------------------------------------------------------------- */

struct safetensors;

/* NULL with yp_last_error() set, which names the file: YP_IO, it cannot be read or is not what it
 * should be. The description is in the CPU's memory, the tensors stay in the file. */
struct safetensors *safetensors_open(const char *path);
void safetensors_close(struct safetensors *file); /* NULL is allowed */

/* In the order of their bytes; NULL behind the last one. */
const struct safetensors_tensor *safetensors_at(const struct safetensors *file, size_t i);
/* NULL when there is none of that name. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *file, const char *name);

/* `count` elements from element `first` on, as they are; both within the tensor. YP_UNSUPPORTED:
 * they are of another type than the ones above. */
enum yp_status safetensors_read(const struct safetensors *file,
                                const struct safetensors_tensor *tensor, uint64_t first,
                                size_t count, void *out);
/* The same of F64, F32, F16 or BF16, as floats or as doubles; of others YP_UNSUPPORTED. */
enum yp_status safetensors_read_floats(const struct safetensors *file,
                                       const struct safetensors_tensor *tensor, uint64_t first,
                                       size_t count, float *out);
enum yp_status safetensors_read_doubles(const struct safetensors *file,
                                        const struct safetensors_tensor *tensor, uint64_t first,
                                        size_t count, double *out);

/* -- writing ----------------------------------------------------------------------------------- */

struct safetensors_writer;

/* Begins a file of these tensors, in this order; their offsets and bytes are computed. The file has
 * its name once safetensors_finish() has returned YP_OK, in the place of an older one. NULL with
 * yp_last_error() set: a name or a type is not allowed, or twice there; YP_IO. */
struct safetensors_writer *safetensors_create(const char *path, struct safetensors_tensor *tensors,
                                              size_t count);
/* `count` elements of tensor i, of its type, from element `first` on. */
enum yp_status safetensors_write(struct safetensors_writer *writer, size_t i, uint64_t first,
                                 size_t count, const void *from);
/* To the disk, and its name. YP_INVALID: not as many bytes were written as there are. Frees the
 * writer either way. */
enum yp_status safetensors_finish(struct safetensors_writer *writer);
/* Leaves nothing. NULL is allowed. */
void safetensors_abandon(struct safetensors_writer *writer);
