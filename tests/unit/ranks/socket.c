/* Ranks over sockets: processes of one test, on one node and as if on several. */
#include "ranks/socket/rendezvous.h"
#include "tests/unit/ranks/collectives.h"
#include "tests/unit/ranks/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

static enum yp_status all_of_it(struct ypk_communicator *c, void *argument)
{
    (void)argument;
    CHECK(strcmp(ypk_engine_of(c), "socket") == 0, "engine %s", ypk_engine_of(c));
    return try_all(c);
}

Test(socket, computes_what_one_process_does)
{
    for (int size = 2; size <= 5; size++) {
        struct world world = {.absent = 0};
        world_begin(&world);
        world_run(&world, size, all_of_it, NULL);
        expect_ok(&world, size);
        world_end(&world);
    }
}

static enum yp_status probed(struct ypk_communicator *c, void *argument)
{
    (void)argument;
    return try_probes(c);
}

/* As in a container that keeps processes out of each other's memory: messages go by the socket. */
static enum yp_status try_all_apart(struct ypk_communicator *c, void *argument)
{
    struct sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof refuse / sizeof *refuse, refuse};
    (void)argument;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 ||
        process_vm_readv(getpid(), NULL, 0, NULL, 0, 0) != -1)
        return yp_set_error(YP_UNSUPPORTED, "no filter: %s", strerror(errno));
    return try_all(c);
}

Test(socket, computes_the_same_where_memory_is_out_of_reach)
{
    struct world world = {0};
    world_begin(&world);
    world_run(&world, 3, try_all_apart, NULL);
    expect_ok(&world, 3);
    world_end(&world);
}

Test(socket, is_probed)
{
    struct world world = {.absent = 0};
    struct ypk_figure figure;
    world_begin(&world);
    world_run(&world, 3, probed, NULL);
    expect_ok(&world, 3);
    world_end(&world);
    cr_expect_eq(ypk_probe(NULL, YPK_PROBE_BARRIER, 0, 1, &figure), YP_INVALID);
}

static int open_files(void)
{
    int count = 0;
    for (int file = 0; file < 256; file++)
        count += fcntl(file, F_GETFD) != -1;
    return count;
}

static enum yp_status linked(struct ypk_communicator *c, void *memory)
{
    YPK_TRY(ypk_barrier(c));
    YPK_TRY(try_messages(c, 1)); /* connections are made when they are first used */
    const int before = open_files();
    YPK_TRY(try_links(c, memory != NULL));
    CHECK(!memory || open_files() == before, "%d files are open, and %d were before", open_files(),
          before);
    return YP_OK;
}

/* On one node ranks read each other's memory, on two they send. */
Test(socket, is_linked)
{
    for (int size = 2; size <= 4; size++) {
        struct world world = {.absent = 0};
        world_begin(&world);
        world_run(&world, size, linked, &world);
        expect_ok(&world, size);
        world_end(&world);
    }
    struct world nodes = {.local_size = 2, .node = {0, 0, 1}};
    world_begin(&nodes);
    world_run(&nodes, 3, linked, NULL);
    expect_ok(&nodes, 3);
    world_end(&nodes);
}

static enum yp_status lost(struct ypk_communicator *c, void *argument)
{
    struct ypk_link *link;
    double seconds;
    (void)argument;
    YPK_TRY(ypk_link_open(&link, c, YPK_PROBE_ALL_REDUCE, 8));
    if (ypk_rank(c) == 1)
        _exit(0);
    return ypk_link_run(link, 1e-3, &seconds);
}

Test(socket, a_link_notices_a_lost_rank)
{
    struct world world = {.absent = 0};
    world_begin(&world);
    world_run(&world, 2, lost, NULL);
    expect_said(&world, 0, "rank 1 of 2");
    world_end(&world);
}

static enum yp_status two_nodes(struct ypk_communicator *c, void *argument)
{
    const int rank = ypk_rank(c);
    const struct ypk_place place = ypk_place_of(c);
    (void)argument;
    CHECK(place.node == rank / 2 && place.local_rank == rank % 2 &&
              place.local_size == (rank < 2 ? 2 : 1),
          "rank %d: local rank %d of %d on node %d", rank, place.local_rank, place.local_size,
          place.node);
    return try_all(c);
}

Test(socket, reaches_another_node)
{
    struct world world = {.local_size = 2, .node = {0, 0, 1}};
    world_begin(&world);
    world_run(&world, 3, two_nodes, NULL);
    expect_ok(&world, 3);
    world_end(&world);
}

Test(socket, one_rank_needs_nothing)
{
    const struct ypk_place place = {.size = 1, .local_size = 1};
    struct ypk_communicator *c;
    cr_assert_eq(ypk_join(&c, &place, "/nonexistent", 1), YP_OK);
    cr_expect_str_eq(ypk_engine_of(c), "none");
    cr_expect_eq(try_all(c), YP_OK, "%s", yp_last_error());
    cr_expect_eq(ypk_send(c, "", 1, 0), YP_INVALID);
    cr_expect_eq(ypk_broadcast(c, NULL, 0, 1), YP_INVALID);
    ypk_leave(c);
    cr_expect_eq(try_all(NULL), YP_OK, "%s", yp_last_error());
    ypk_leave(NULL);
}

static enum yp_status one_barrier(struct ypk_communicator *c, void *argument)
{
    (void)argument;
    return ypk_barrier(c);
}

Test(socket, names_ranks_that_do_not_join)
{
    struct world world = {.limit = 0.5, .absent = 1 << 2 | 1 << 4};
    world_begin(&world);
    world_run(&world, 5, one_barrier, NULL);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            expect_said(&world, i, "ranks 2 and 4 of 5 did not join within 0.5 s");
    world_end(&world);
}

Test(socket, misses_rank_0)
{
    struct world world = {.limit = 0.3, .absent = 1};
    world_begin(&world);
    world_run(&world, 2, one_barrier, NULL);
    expect_said(&world, 1, "rank 0 of 2 did not join within 0.3 s");
    world_end(&world);
}

static enum yp_status out_of_order(struct ypk_communicator *c, void *argument)
{
    char data[16] = "";
    (void)argument;
    YPK_TRY(ypk_barrier(c));
    return ypk_rank(c) == 2 ? ypk_broadcast(c, data, sizeof data, 1) : ypk_barrier(c);
}

Test(socket, names_ranks_out_of_order)
{
    struct world world = {.absent = 0};
    world_begin(&world);
    world_run(&world, 3, out_of_order, NULL);
    for (int i = 0; i < 3; i++)
        expect_said(&world, i,
                    "rank 2 of 3 is in broadcast of 16 bytes from rank 1 (call 2); rank 0 is in "
                    "barrier (call 2)");
    world_end(&world);
}

static enum yp_status other_sizes(struct ypk_communicator *c, void *argument)
{
    float data[4] = {0};
    (void)argument;
    const enum yp_status status =
        ypk_all_reduce(c, data, ypk_rank(c) == 1 ? 3 : 4, YPK_FLOAT, YPK_SUM);
    CHECK(status != YP_OK && ypk_barrier(c) == status, "it goes on after an error");
    return status;
}

Test(socket, names_ranks_with_other_sizes)
{
    struct world world = {.absent = 0};
    world_begin(&world);
    world_run(&world, 2, other_sizes, NULL);
    for (int i = 0; i < 2; i++)
        expect_said(&world, i, "rank 1 of 2 is in all-reduce of 12 bytes, sum of float (call 1)");
    world_end(&world);
}

static enum yp_status one_dies(struct ypk_communicator *c, void *argument)
{
    YPK_TRY(ypk_barrier(c));
    if (ypk_rank(c) == *(const int *)argument)
        kill(getpid(), SIGKILL);
    return ypk_barrier(c);
}

Test(socket, names_a_rank_that_died)
{
    for (int dead = 0; dead < 3; dead++) {
        struct world world = {.absent = 0};
        char text[64];
        world_begin(&world);
        world_run(&world, 3, one_dies, &dead);
        snprintf(text, sizeof text, "rank %d of 3 closed the connection", dead);
        for (int i = 0; i < 3; i++)
            if (i != dead)
                expect_said(&world, i, text);
        world_end(&world);
    }
}

static enum yp_status one_leaves(struct ypk_communicator *c, void *argument)
{
    (void)argument;
    return ypk_rank(c) == 1 ? YP_OK : ypk_barrier(c);
}

Test(socket, names_a_rank_that_left)
{
    struct world world = {.absent = 0};
    world_begin(&world);
    world_run(&world, 3, one_leaves, NULL);
    expect_said(&world, 0, "rank 1 of 3 has left");
    expect_said(&world, 2, "rank 1 of 3 has left");
    world_end(&world);
}

static enum yp_status one_is_late(struct ypk_communicator *c, void *argument)
{
    YPK_TRY(ypk_barrier(c));
    if (ypk_rank(c) == *(const int *)argument)
        usleep(1500000);
    return ypk_barrier(c);
}

Test(socket, names_a_rank_that_is_late)
{
    for (int late = 0; late < 3; late++) {
        struct world world = {.limit = 0.4};
        char text[96];
        world_begin(&world);
        world_run(&world, 3, one_is_late, &late);
        snprintf(text, sizeof text, "rank %d of 3 did not arrive in barrier (call 2) within 0.4 s",
                 late);
        for (int i = 0; i < 3; i++)
            if (i != late || late == 1)
                expect_said(&world, i, text);
        world_end(&world);
    }
}

static enum yp_status other_message(struct ypk_communicator *c, void *argument)
{
    char data[8] = "";
    (void)argument;
    if (ypk_rank(c) == 0)
        return ypk_send(c, data, 4, 1);
    return ypk_receive(c, data, 8, 0);
}

Test(socket, names_messages_of_other_sizes)
{
    struct world world = {.absent = 0};
    world_begin(&world);
    world_run(&world, 2, other_message, NULL);
    expect_said(&world, 1, "message 1 of rank 0 to rank 1 has 4 bytes; the receiver expects 8");
    world_end(&world);
}

/* Rank 1 leaves while an exchange is under way; `argument`: it ends without a word. */
static enum yp_status ends_under_way(struct ypk_communicator *c, void *argument)
{
    enum { BYTES = 4 << 20 };
    static char out[BYTES], in[BYTES];
    enum yp_status status = YP_OK;
    if (ypk_rank(c) == 0)
        status = ypk_begin_exchange(c, out, BYTES, 1, in, BYTES, 1);
    if (status == YP_OK)
        status = ypk_barrier(c);
    if (status == YP_OK && ypk_rank(c) == 1 && argument != NULL)
        _exit(3);
    if (status != YP_OK || ypk_rank(c) == 1)
        return status;
    status = ypk_end_exchange(c);
    return ypk_begin_exchange(c, out, 1, 1, in, 1, 1) == status ? status : YP_OK; /* broken */
}

Test(socket, names_a_rank_that_ends_while_messages_are_under_way)
{
    struct world world = {0};
    for (int dies = 0; dies < 2; dies++) {
        world_begin(&world);
        world_run(&world, 2, ends_under_way, dies ? &dies : NULL);
        expect_said(&world, 0, "ranks: rank 1 of 2 closed the connection; rank 0 ");
        expect_said(&world, 0, " 4194304 bytes");
        world_end(&world);
    }
}

static enum yp_status no_message(struct ypk_communicator *c, void *argument)
{
    char data[8];
    (void)argument;
    return ypk_rank(c) == 0 ? ypk_receive(c, data, 8, 1) : YP_OK;
}

Test(socket, names_the_sender_of_no_message)
{
    struct world world = {.limit = 0.3};
    world_begin(&world);
    world_run(&world, 2, no_message, NULL);
    expect_said(&world, 0, "rank 1 sent no message of rank 0 of 2 within 0.3 s");
    world_end(&world);
}

/* Says hello to rank 0, with a token of its own. */
static void come_as_stranger(const char *directory)
{
    struct ypk_meeting meeting;
    struct ypk_hello hello = {.magic = YPK_FRAME_MAGIC, .rank = 1, .size = 3};
    int next = 0;
    char byte;
    while (!ypk_meeting_read(&meeting, directory))
        usleep(1000);
    const int fd = ypk_connect(&meeting.endpoint, true, 1e300, &next);
    cr_assert_geq(fd, 0, "%s", strerror(errno));
    memcpy(hello.token, meeting.token, YPK_TOKEN);
    hello.token[YPK_TOKEN - 1] ^= 1;
    ypk_wire_write_all(fd, &hello, sizeof hello, 1e300);
    while (recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN)
        usleep(1000);
    close(fd);
}

Test(socket, refuses_strangers)
{
    struct world world = {.limit = 0.6, .absent = 1 << 1};
    world_begin(&world);
    const pid_t pid = fork();
    if (pid == 0) {
        come_as_stranger(world.directory);
        _exit(0);
    }
    world_run(&world, 3, one_barrier, NULL);
    waitpid(pid, NULL, 0);
    expect_said(&world, 0,
                "rank 1 of 3 did not join within 0.6 s; 1 other connections were refused");
    expect_said(&world, 2, "rank 1 of 3 did not join");
    world_end(&world);
}

/* Two worlds meet in one directory. */
Test(socket, names_another_size)
{
    struct world world = {.limit = 1};
    struct ypk_communicator *c;
    world_begin(&world);
    const pid_t pid = fork();
    if (pid == 0) {
        const struct ypk_place place = {.rank = 3, .size = 4, .local_rank = -1, .local_size = -1};
        world.said[3].status = ypk_join(&c, &place, world.directory, 1);
        snprintf(world.said[3].text, sizeof world.said[3].text, "%s", yp_last_error());
        _exit(0);
    }
    const struct ypk_place place = {.rank = 0, .size = 2, .local_rank = -1, .local_size = -1};
    cr_expect_eq(ypk_join(&c, &place, world.directory, 1), YP_IO);
    cr_expect_str_eq(yp_last_error(), "ranks: one process is rank 3 of 4 and rank 0 is of 2; was "
                                      "each started by the same launcher?");
    waitpid(pid, NULL, 0);
    expect_said(&world, 3, "rank 3 of 4 cannot join rank 0 of 2");
    world_end(&world);
}

/* A file that rank 0 of an earlier world left, as it was killed. */
Test(socket, an_old_file_is_waited_out)
{
    struct world world = {.limit = 5};
    struct ypk_meeting old = {.size = 2};
    world_begin(&world);
    snprintf(old.endpoint.unix_name, sizeof old.endpoint.unix_name, "yieldpoint-gone-%d",
             (int)getpid());
    old.endpoint.port = 1;
    snprintf(old.endpoint.address[0], sizeof old.endpoint.address[0], "127.0.0.1");
    cr_assert_eq(ypk_meeting_write(&old, world.directory), YP_OK);
    world_run(&world, 2, one_barrier, NULL);
    expect_ok(&world, 2);
    char path[128];
    snprintf(path, sizeof path, "%s/" YPK_RENDEZVOUS, world.directory);
    cr_expect_neq(access(path, F_OK), 0, "it stays");
    world_end(&world);
}
