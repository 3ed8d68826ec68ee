/* Keeps a core of this computer awake, and reports its speed. It runs whenever no other process uses the core.

   A sleeping core wakes up late, slow, and with cold caches. Moreover, on a virtual computer each core may be a hardware
   thread whose sibling others use for some seconds at a time, which multiplies CPU times by 1.1 to 2. So this program does
   the same piece of work over and over, and writes the time that it takes.

   The piece consists of independent additions, which need the whole core: beside a busy sibling they take twice as long, as
   an interpreter's loop does, and nearly as the measured programs do (numpy's loops over short rows). Long loops over
   arrays in a cache take only 1.4 to 1.6 times as long, so for them this overestimates the slowdown.

   keeper best CORE SECONDS        prints the seconds that the piece takes at best
   keeper CORE FILE BEST           until it is killed: writes BEST / the present time of the piece to FILE, a double for each core:
                                   by the median of pieces, and in the second half of the file by the shortest of them */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
/* The kernel charges interrupts, and what switches between processes cost, to the process that runs. The median of several
   pieces is what processes on this core suffer of both; the shortest tells what the other half of the core does to it. */
struct pieces { double shortest, median; };
static struct pieces several(void) {
  double tries[TRIES];
  for (int i = 0; i < TRIES; i++) tries[i] = piece();
  qsort(tries, TRIES, sizeof *tries, ascending);
  return (struct pieces){tries[0], tries[TRIES / 2]};
}
static double averaged(double average, double took) { return average ? average + (took - average) / AVERAGED : took; }

static void stay(int core) {
  cpu_set_t set;
  CPU_ZERO(&set); CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set)) { perror("keeper: core must be one of this process"); exit(1); }
}

int main(int count, char **words) {
  if (count != 4) { fprintf(stderr, "keeper: best CORE SECONDS, or CORE FILE BEST\n"); return 2; }
  if (!strcmp(words[1], "best")) {
    stay(atoi(words[2]));
    double until = now(CLOCK_MONOTONIC) + atof(words[3]), best = several().median;
    while (now(CLOCK_MONOTONIC) < until) { double took = several().median; if (took < best) best = took; }
    printf("%.9g\n", best);
    return 0;
  }
  int core = atoi(words[1]), file = open(words[2], O_RDWR);
  double best = atof(words[3]);
  struct pieces average = {0, 0};
  struct stat about;
  stay(core);
  struct sched_param none = {0};
  sched_setscheduler(0, SCHED_IDLE, &none);
  volatile double *speeds = file < 0 || fstat(file, &about) ? MAP_FAILED : mmap(0, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (speeds == MAP_FAILED) { perror("keeper: file of speeds must be there"); return 1; }
  volatile double *undisturbed = speeds + about.st_size / (off_t)(2 * sizeof(double));
  for (;;) {
    struct pieces took = several();
    average = (struct pieces){averaged(average.shortest, took.shortest), averaged(average.median, took.median)};
    speeds[core] = best / average.median;
    undisturbed[core] = best / average.shortest;
  }
}
