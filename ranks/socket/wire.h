/* Sockets of this engine: bytes and frames, each wait with an end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yieldpoint/device.h>

#define YPK_FRAME_MAGIC 0x59504b31U /* also tells another byte order */
#define YPK_TEXT_MAX 768

enum ypk_frame_kind {
    YPK_FRAME_CALL = 1, /* a rank to rank 0: its collective call, its data after it */
    YPK_FRAME_DATA,     /* a part of the result */
    YPK_FRAME_DONE,     /* the call is complete */
    YPK_FRAME_HERE,     /* rank 0 has arrived, too, and waits for others */
    YPK_FRAME_ERROR,    /* a text; the communicator is broken */
    YPK_FRAME_LEAVE,    /* the sender leaves */
    YPK_FRAME_MESSAGE,  /* of one rank to another */
    YPK_FRAME_OFFER,    /* the same: its data is in the sender's memory, and may be read there */
};

struct ypk_frame {
    uint32_t magic;
    uint8_t frame, kind, type, op; /* of enum ypk_frame_kind and of the call */
    int32_t root;
    uint32_t unused;
    uint64_t number;  /* of the call */
    uint64_t bytes;   /* that follow; of a call: the call's */
    uint64_t address; /* of an offer; its `root` is the process */
};

/* A connection from which bytes are read in parts, as they come. */
struct ypk_reader {
    struct ypk_frame frame;
    size_t have; /* bytes of `frame` */
};

enum ypk_wire { YPK_WIRE_DONE, YPK_WIRE_LATER, YPK_WIRE_CLOSED };

/* Reads more of the frame's header, without waiting. */
enum ypk_wire ypk_wire_header(int fd, struct ypk_reader *reader);

/* Reads or writes up to `size` bytes, without waiting; *moved: how many. */
enum ypk_wire ypk_wire_read(int fd, void *to, size_t size, size_t *moved);
enum ypk_wire ypk_wire_write(int fd, const void *from, size_t size, size_t *moved);

/* All of it, at the latest at `end` (ypi_kernel_now()): LATER when it took longer. */
enum ypk_wire ypk_wire_read_all(int fd, void *to, size_t size, double end);
enum ypk_wire ypk_wire_write_all(int fd, const void *from, size_t size, double end);

/* Waits for `events` of poll() until `end`. */
struct pollfd;
int ypk_wire_poll(struct pollfd *fds, size_t count, double end);
