/* The files of templates/, which the build makes into texts. @NAME@ in them is filled in. */
#pragma once

extern const char ypi_init_suite[];        /* the suite, in C */
extern const char ypi_init_meson[];        /* its build file */
extern const char ypi_init_cmake[];        /* the same */
extern const char ypi_init_make[];         /* the same */
extern const char ypi_init_ini[];          /* yieldpoint.ini */
extern const char ypi_init_github[];       /* the workflow */
extern const char ypi_init_github_steps[]; /* its script */
extern const char ypi_init_gitlab[];       /* the jobs */
extern const char ypi_init_gitlab_steps[]; /* their script */
extern const char ypi_init_include[];      /* .gitlab-ci.yml, where there is none */
