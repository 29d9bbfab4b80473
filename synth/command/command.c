#include "synth/command/command.h"

#include "synth/command/internal.h"

#include "base/system/atomic_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int interrupted(const struct ypi_outputs *outputs, const struct ypi_made *made, int number)
{
    fprintf(stderr,
            "yieldpoint: interrupted: %zu of %zu cubes are whole and stay, without %s.json\n",
            made->cubes, outputs->job->cubes, outputs->job->base);
    return 128 + number;
}

/* Of the files that --force replaces, PATH.json goes first: it says that all beside it is complete
 * and of one kind. */
static enum yp_status remove_description(const struct ypi_job *job)
{
    char path[YPI_PATH_MAX];
    ypi_job_path(job, ".json", path);
    if (!job->force)
        return YP_OK;
    if (unlink(path) == 0)
        return ypi_sync_directory(path);
    return errno == ENOENT ? YP_OK : yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
}

static int make(const struct ypi_outputs *outputs, struct ypi_preview *preview, uint64_t bytes)
{
    struct ypi_made made = {0};
    char path[YPI_PATH_MAX];
    enum yp_status status = remove_description(outputs->job);
    ypi_signals_begin();
    if (status == YP_OK)
        status = ypi_synth_run(outputs, bytes, preview, &made);
    ypi_signals_end();
    int number = ypi_signal_caught();
    if (status != YP_OK) {
        int code = ypi_report_error(status);
        if (made.cubes > 0)
            fprintf(stderr, "yieldpoint: %zu of %zu cubes are whole and stay\n", made.cubes,
                    outputs->job->cubes);
        return code;
    }
    if (number != 0 && made.cubes < outputs->job->cubes)
        return interrupted(outputs, &made, number);
    ypi_job_path(outputs->job, ".png", path);
    if (preview != NULL)
        status = ypi_preview_write(preview, path, outputs->job->force);
    if (status == YP_OK)
        status = ypi_sidecars_write(outputs, &made);
    if (status != YP_OK)
        return ypi_report_error(status);
    ypi_report_made(outputs, &made);
    if (fflush(stdout) == 0)
        return YPI_SYNTH_OK;
    fputs("yieldpoint: the standard output cannot be written\n", stderr);
    return YPI_SYNTH_FILE;
}

static int with_scene(const struct ypi_job *job, const struct synth_scene *scene)
{
    struct ypi_outputs outputs;
    struct ypi_preview *preview = NULL;
    uint64_t bytes = 0;
    enum yp_status status = ypi_outputs_init(&outputs, job, scene);
    if (status == YP_OK)
        status = ypi_outputs_check(&outputs, &bytes);
    if (status == YP_OK && job->preview) {
        preview = ypi_preview_create(&outputs);
        status = preview == NULL ? YP_OUT_OF_MEMORY : YP_OK;
    }
    int code = status == YP_OK ? make(&outputs, preview, bytes) : ypi_report_error(status);
    ypi_preview_destroy(preview);
    ypi_outputs_free(&outputs);
    return code;
}

int ypi_synth_command(int argc, char **argv)
{
    struct ypi_job job;
    int code = ypi_synth_job_read(&job, argc, argv);
    if (code == YPI_SYNTH_OK && job.help) {
        ypi_synth_help();
        code = fflush(stdout) == 0 ? YPI_SYNTH_OK : YPI_SYNTH_FILE;
    } else if (code == YPI_SYNTH_OK) {
        struct synth_scene *scene = synth_scene_create(yp_device_cpu(), &job.spec);
        code = scene != NULL                       ? with_scene(&job, scene)
               : synth_scene_bytes(&job.spec) == 0 ? ypi_report_error(YP_INVALID)
                                                   : ypi_report_error(YP_OUT_OF_MEMORY);
        synth_scene_destroy(scene);
    }
    ypi_job_free(&job);
    return code;
}
