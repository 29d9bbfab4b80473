/* Where Criterion ends or crashes this process in the middle of a run. */
#pragma once

/* From here on `ended` is called in place of an abort() of Criterion's, which it answers so where
 * the system refuses it something, and of a crash in its code; it does not return. The thread may
 * be any that is in Criterion. A process that is forked from here on ends with this one, with
 * `code` where it aborts before it is another program. */
void ypi_faults_catch(void (*ended)(void), int code);
void ypi_faults_leave(void);

/* From here on an abort() ends the process with the code. */
void ypi_faults_end(int code);
