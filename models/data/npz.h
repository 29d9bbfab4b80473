/* Files of named arrays as numpy.savez() writes them: a zip (PKWARE, APPNOTE 6.3) of .npy files
 * that are not compressed. */
#pragma once

#include "models/data/safetensors.h"

/* Whether the file begins as a zip does. */
bool npz_is_one(const char *path);

/* The arrays as tensors, to be read and closed as those of a .safetensors file; one of a type that
 * is not known there has SAFETENSORS_OTHER. Checksums are not compared. NULL with yp_last_error()
 * set, which names the file and the array: YP_IO, it cannot be read, is no zip, has an array that
 * is compressed, in Fortran order, not in the order of bytes of the machine, or not whole. */
struct safetensors *npz_open(const char *path);
