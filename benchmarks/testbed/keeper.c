/* Keeps a core of this computer awake, and reports its speed. It runs whenever no other process uses the core.

   A sleeping core wakes up late, slow, and with cold caches. Moreover, on a virtual computer each core may be a hardware
   thread whose sibling others use for some seconds at a time, which multiplies CPU times by 1.1 to 2. So this program does
   the same piece of work over and over, and writes the time that it takes.

   The piece consists of independent additions, which need the whole core: beside a busy sibling they take twice as long, as
   an interpreter's loop does, and nearly as the measured programs do (numpy's loops over short rows). Long loops over
   arrays in a cache take only 1.4 to 1.6 times as long, so for them this overestimates the slowdown.

   keeper best CORE SECONDS        prints the seconds that the piece takes at best
   keeper CORE FILE BEST           until it is killed: writes BEST / the present time of the piece to FILE, a double for each core */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ADDITIONS = 40000, TRIES = 5, AVERAGED = 32 };

static double now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }

static double piece(void) {
  double begin = now(CLOCK_THREAD_CPUTIME_ID);
  uint64_t a = 1, b = 2, c = 3, d = 4;
  for (int i = 0; i < ADDITIONS; i++) { a += i; b ^= a >> 1; c += i * 3; d ^= c; __asm__ volatile("" ::"r"(b), "r"(d)); }
  return now(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static int ascending(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}
/* The median of several: the kernel charges interrupts and network processing to the interrupted process. */
static double typical_piece(void) {
  double tries[TRIES];
  for (int i = 0; i < TRIES; i++) tries[i] = piece();
  qsort(tries, TRIES, sizeof *tries, ascending);
  return tries[TRIES / 2];
}

static void stay(int core) {
  cpu_set_t set;
  CPU_ZERO(&set); CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set)) { perror("keeper: core must be one of this process"); exit(1); }
}

int main(int count, char **words) {
  if (count != 4) { fprintf(stderr, "keeper: best CORE SECONDS, or CORE FILE BEST\n"); return 2; }
  if (!strcmp(words[1], "best")) {
    stay(atoi(words[2]));
    double until = now(CLOCK_MONOTONIC) + atof(words[3]), best = typical_piece();
    while (now(CLOCK_MONOTONIC) < until) { double took = typical_piece(); if (took < best) best = took; }
    printf("%.9g\n", best);
    return 0;
  }
  int core = atoi(words[1]), file = open(words[2], O_RDWR);
  double best = atof(words[3]), average = 0;
  stay(core);
  struct sched_param none = {0};
  sched_setscheduler(0, SCHED_IDLE, &none);
  volatile double *speeds = file < 0 ? MAP_FAILED : mmap(0, (core + 1) * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (speeds == MAP_FAILED) { perror("keeper: file of speeds must be there"); return 1; }
  for (;;) {
    double took = typical_piece();
    average += average ? (took - average) / AVERAGED : took;
    speeds[core] = best / average;
  }
}
