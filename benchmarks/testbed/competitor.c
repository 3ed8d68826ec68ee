/* A process that computes for ever on a slow host of a testbed, and competes for its processors with the host's ranks.

   It loads a slow processor as a busy loop loads a whole core. It computes a piece, and sleeps until the piece has taken
   FACTOR times its CPU time, and proportionally longer if the host has more computing processes than processors: each gets
   a fair share, as from a scheduler with short time slices. Ranks do the same at the end of each burst (pace.c).

   competitor FACTOR PROCESSORS CONTENDERS SPEEDS
     CONTENDERS  file with an int of competitors that run, which this one raises, then one for each rank: whether it computes
     SPEEDS      file with a double for each core of this computer: how fast it is, relative to its best; 0: unknown; as many
                 further doubles are not used */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ADDITIONS = 200000 };  /* some 0.1 ms */

static double now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }

static void compute(void) {
  uint64_t a = 1, b = 2, c = 3, d = 4;
  for (int i = 0; i < ADDITIONS; i++) { a += i; b ^= a >> 1; c += i * 3; d ^= c; __asm__ volatile("" ::"r"(b), "r"(d)); }
}
static volatile void *mapped(const char *path, size_t *length) {
  struct stat about;
  int file = open(path, O_RDWR);
  void *all = file < 0 || fstat(file, &about) ? MAP_FAILED : mmap(0, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (all == MAP_FAILED) { perror("competitor: files must be there"); exit(1); }
  *length = (size_t)about.st_size;
  return all;
}

int main(int count, char **words) {
  if (count != 5) { fprintf(stderr, "competitor: FACTOR PROCESSORS CONTENDERS SPEEDS\n"); return 2; }
  double factor = atof(words[1]), processors = atof(words[2]), debt = 0;
  size_t bytes;
  volatile int *contenders = mapped(words[3], &bytes);
  int ranks = (int)(bytes / sizeof *contenders) - 1;
  volatile double *speeds = mapped(words[4], &bytes);
  int cores = (int)(bytes / sizeof *speeds / 2);
  __sync_fetch_and_add(&contenders[0], 1);
  for (;;) {
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    compute();
    int core = sched_getcpu(), computing = contenders[0];
    double speed = core >= 0 && core < cores ? speeds[core] : 0;
    for (int rank = 1; rank <= ranks; rank++) computing += contenders[rank];
    double longer = computing > processors ? factor * computing / processors : factor;
    double end = wall + longer * (now(CLOCK_THREAD_CPUTIME_ID) - cpu) * (speed > 0 ? speed : 1) + debt;
    struct timespec t = {(time_t)end, (long)((end - (time_t)end) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0) == EINTR) ;
    debt = end - now(CLOCK_MONOTONIC);
    if (debt < -0.1) debt = 0;
  }
}
