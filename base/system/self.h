/* The program that this process runs, by the file that it was started from: the kernel keeps that
 * one, whatever takes its place under its name meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Its absolute path as /proc has it, without the mark of a file that is there no more; "?" where
 * there is no /proc. Lives as long as the process. */
const char *ypi_self_path(void);
bool ypi_self_in_place(void); /* that path still leads to it */

/* Gives this process the name of its program, where it was executed by a link's. */
void ypi_self_take_name(void);

enum { YPI_SELF_FILE = 32 };
/* The name by which every process of this user opens and executes the program file of `process`,
 * as long as that lives. */
void ypi_self_file(pid_t process, char out[YPI_SELF_FILE]);

/* What tells its content from every other build's, in hexadecimal digits; false where it cannot be
 * read. Takes some 20 ms for each 100 MB. */
bool ypi_self_hash(char out[17]);

/* The build id that the linker gave the program, in hexadecimal digits, cut off at the end; "":
 * none. Another build of the same sources has the same one where all its bytes are the same. */
enum { YPI_SELF_BUILD = 41 };
void ypi_self_build(char out[YPI_SELF_BUILD]);

/* Starts the program anew by itself where it was started through the dynamic loader (ld.so
 * PROGRAM), for whose file /proc has no more than the loader's. Returns where there was no need;
 * false: it cannot be, yp_last_error() says why. `argc` is main()'s. */
bool ypi_self_without_loader(int argc);
