/* Keeps memory busy from a core of its own, until it is killed, so that memory accesses of other cores have to wait.

   streamer CORE

   It repeatedly changes one byte of each cache line of an array that fits in no cache. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 256 << 20, LINE = 64 };

int main(int count, char **words) {
  if (count != 2) { fprintf(stderr, "streamer: CORE\n"); return 2; }
  cpu_set_t set;
  CPU_ZERO(&set); CPU_SET(atoi(words[1]), &set);
  unsigned char *array = malloc(SIZE);
  if (!array || sched_setaffinity(0, sizeof set, &set)) { perror("streamer: core and memory must be there"); return 1; }
  memset(array, 1, SIZE);
  for (;;)
    for (size_t at = 0; at < SIZE; at += LINE) ((volatile unsigned char *)array)[at]++;
}
