/* What the targets share. Each is a file with LLVMFuzzerTestOneInput(); docs/fuzzing.md tells how
 * they are run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Only where a target has something to prepare. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What has to hold of the answer, beside that nothing crashes. */
#define FUZZ_CHECK(holds) ((holds) ? (void)0 : fuzz_failed(__FILE__, __LINE__, #holds))
void fuzz_failed(const char *file, int line, const char *condition) __attribute__((noreturn));

/* What is left of an input. */
struct fuzz_input {
    const uint8_t *at;
    size_t left;
};
/* The next line without its end, "" when nothing is left; what stands behind a NUL in it is cut.
 * The caller frees. */
char *fuzz_line(struct fuzz_input *input);
/* All that is left, the same way. The caller frees. */
char *fuzz_rest(struct fuzz_input *input);
/* The next bytes as a number, the lowest first; 0 for those that are not there. */
uint64_t fuzz_number(struct fuzz_input *input, size_t bytes);

/* The path of a file in a directory of this process, which is removed when it exits. The text stays
 * until eight more were asked for. */
const char *fuzz_path(const char *name);
/* Makes that directory the working directory, and the one before it again. */
void fuzz_enter(void);
void fuzz_leave(void);
/* Writes the whole file; ends the process when it cannot. */
void fuzz_write(const char *path, const void *bytes, size_t size);

/* Bytes of pairs of digits, up to the end of the word or of the room; returns how many. */
size_t fuzz_hex(unsigned char *to, size_t room, const char *hex);
