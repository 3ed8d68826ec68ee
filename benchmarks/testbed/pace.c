/* Preloaded into every rank of a testbed. It uses no MPI header, and works with any MPI library and language.

   Slow processors: at every MPI call a rank sleeps until FACTOR times the CPU time of the burst before it has passed. The
   kernel's quotas alone would let bursts shorter than the quota period (some ms) run at full speed.
   Steady processors: the CPU time of a rank's thread is that of a core at its best speed, whatever the current speed of this
   computer's cores (measured by keeper.c). It is used for the rank's pace, and returned to programs that read the clock
   (CLOCK_THREAD_CPUTIME_ID). The kernel charges a thread with the network's work that interrupts it; this is deducted.
   Quiet waits: the calls with which an MPI library polls while it waits (epoll_wait and poll without time-out, sched_yield)
   sleep in the kernel until data arrive. So a waiting rank uses no processor time, which other ranks need on this computer.
   Shared memory: its messages make no file readable, so a rank that has called MPI rings the bells of sleeping ranks of
   its host.

   CLUE_TESTBED_FACTOR  slowdown of processors (default 1)
                        A slower rank gets a core at once when it wakes, before all other work of the computer.
   CLUE_TESTBED_CORES   the core of this computer for each processor of the host; each rank stays on the core of its processor
   CLUE_TESTBED_SPEEDS  file with a double for each core of this computer: its speed relative to its best; then another for
                        each core, the speed apart from interrupts and switches; 0: unknown
   CLUE_TESTBED_SOFTIRQS file with the ID of the table of time for which threads were interrupted (softirqs.c)
   CLUE_TESTBED_QUIET   0: let waits poll (default 1)
   CLUE_TESTBED_INTERPRETER further slowdown of Python's interpreter (default 1): the share of a burst spent in it is sampled,
                        and its CPU time is multiplied accordingly, also when the program itself reads that clock
   CLUE_TESTBED_BELLS   file with a number for each rank of the host, shared by these ranks (default: none)
   CLUE_TESTBED_CONTENDERS file with the number of competitors that run on the host (competitor.c), and a number for each of
                        its ranks: a burst takes longer if more of them compute than the host has processors
   CLUE_TESTBED_PROCESSORS number of processors of the host (default 1)
   CLUE_TESTBED_WHOLE   1: measure from MPI's start to its end, or to the end of a program run by program.py, with or without barriers
   CLUE_TESTBED_FIGURES folder into which each rank writes its measurements, as JSON, when it ends: from between its first two
                        barriers; from the first to the end if there is only one, of the whole run if there is none;
                        its ranks begin together */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SPIN_SHARED = 20, POLL_NS = 1000000, YIELD_US = 200, FILES = 4096, FILES_AT_ONCE = 256 };

static double factor = 1, interpreter = 1;
static int quiet = 1, began, spin = 20;  /* spin: empty polls before a rank sleeps */
static __thread int depth;             /* nesting of MPI calls: libraries call themselves */
static __thread long empty;            /* consecutive empty polls */
static __thread double wall0, cpu0, debt, waiting_since;
static double burst_cpu, burst_wall, late, mpi_wall, mpi_cpu, delayed, delayed0, entered_wall, entered_cpu, section_began, section_ended;
static int whole;
static long bursts, lates;
static int barriers;
static unsigned char is_tcp[FILES];
static int last_file;

static const volatile double *speed, *undisturbed;  /* of this rank's core, if it is paced and they are known: see keeper.c */
static __thread double ran, ran_at_best; /* CPU time of this thread, ns, as it was and, apart from disturbances, at its core's best */

/* Time for which each thread was interrupted by the kernel's work for the network, ns, by its ID: see softirqs.c. NULL: unknown. */
enum { THREADS = 1 << 16 };
static const volatile int64_t *interruptions;
static double interrupted, interrupted0; /* all bursts; when the burst began */

static void count_interruptions(const char *path) {
  char id[256] = "";
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, id, sizeof id - 1) < 0) { perror("testbed: table of interruptions must be there"); abort(); }
  close(file);
  if (*id < '0' || *id > '9') return;  /* The reason why there is none: the launcher said it. */
  union bpf_attr which = {.map_id = (uint32_t)atol(id)};
  int table = (int)syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, &which, sizeof which);
  void *all = table < 0 ? MAP_FAILED : mmap(0, THREADS * sizeof(int64_t), PROT_READ, MAP_SHARED, table, 0);
  if (all == MAP_FAILED) { perror("testbed: table of interruptions must be readable"); abort(); }
  close(table);
  interruptions = all;
}
/* Of this thread since it was first asked about; an earlier thread may have had the same entry. */
static int64_t interrupted_ns(void) {
  static __thread int64_t before;
  static __thread int entry = -1;
  if (!interruptions) return 0;
  if (entry < 0) { entry = gettid() % THREADS; before = interruptions[entry]; }
  return interruptions[entry] - before;
}

/* Cost of this library's signals for the bursts that they interrupt, and number of signals not deducted yet. */
enum { TURNS, INTERPRETER, SIGNALS };
static int64_t signal_ns[SIGNALS];
static __thread volatile int signals[SIGNALS];
static volatile long came[SIGNALS];    /* all so far */

/* CPU time of this thread at its core's best speed. The time since the last call, at most a burst, is scaled by the core's
   current speed. The cost of this library's own signals is deducted, and so is the kernel's work for the network. */
static int64_t steady_ns(int64_t own) {
  static __thread int64_t counted, steady, shown;
  own -= interrupted_ns();
  double share = speed ? *speed : 1, whole_core = speed ? *undisturbed : 1;
  steady += (int64_t)((double)(own - counted) * (share > 0 ? share : 1));
  ran += (double)(own - counted); ran_at_best += (double)(own - counted) * (whole_core > 0 ? whole_core : 1);
  for (int kind = 0; kind < SIGNALS; kind++) { int came = signals[kind]; signals[kind] -= came; steady -= came * signal_ns[kind]; }
  counted = own;
  if (steady > shown) shown = steady;
  return shown;
}
static double slower_now(void);

/* The clock as the program itself reads it, such as a recorder in it: on the emulated processor, whose interpreter may be slower. */
int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  static __thread int64_t counted, shown;
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(clock, time);
  if (failed || clock != CLOCK_THREAD_CPUTIME_ID) return failed;
  int64_t steady = steady_ns(time->tv_sec * 1000000000LL + time->tv_nsec);
  shown += (int64_t)((double)(steady - counted) * (depth ? 1 : slower_now()));
  counted = steady;
  time->tv_sec = shown / 1000000000LL; time->tv_nsec = shown % 1000000000LL;
  return 0;
}
/* CPU time of this thread as the kernel has it, ns. */
static int64_t own_ns(void) {
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static double cpu_now(void) { return 1e-9 * (double)steady_ns(own_ns()); }
static double now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }

/* Time for which this thread has been runnable without a core, seconds. */
static double without_core(void) {
  static __thread int file = -2;
  char said[96], *at = said;
  if (file == -2) file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : pread(file, said, sizeof said - 1, 0);
  if (length <= 0) return 0;
  said[length] = 0;
  while (*at && *at != ' ') at++;
  return 1e-9 * (double)strtoll(at, 0, 10);
}

static void watch(const char *speeds, int core) {
  int file = open(speeds, O_RDONLY);
  struct stat about;
  void *all = file < 0 || fstat(file, &about) ? MAP_FAILED : mmap(0, about.st_size, PROT_READ, MAP_SHARED, file, 0);
  if (all == MAP_FAILED) { perror("testbed: speeds of cores must be there"); abort(); }
  close(file);
  speed = (const volatile double *)all + core;
  undisturbed = speed + about.st_size / (off_t)(2 * sizeof(double));
}
/* A process that moves to another core finds cold caches there. The launcher and competitors, which are not ranks, are not pinned. */
static void stay(const char *cores) {
  const char *place = getenv("MPI_LOCALRANKID");
  if (!place) return;
  int listed = 1;
  for (const char *c = cores; *c; c++) listed += *c == ',';
  for (int skip = atoi(place) % listed; skip; skip--) cores = strchr(cores, ',') + 1;
  cpu_set_t set;
  CPU_ZERO(&set); CPU_SET(atoi(cores), &set);
  sched_setaffinity(0, sizeof set, &set);
  const char *speeds = getenv("CLUE_TESTBED_SPEEDS");
  if (speeds && factor > 1) watch(speeds, atoi(cores));
}

/* Ranks of one host that share memory. A rank announces its sleep before it sleeps, so that later senders ring its bell. A
   woken rank may have to send in turn, so it passes the ring on, but only ECHOES times. */
enum { HOST_RANKS = 64, ECHOES = 4, BELL_NAP_NS = 1000000 };
static volatile int *asleep;           /* by rank of the host; NULL: no shared memory */
static int bell = -1, place, echoes = ECHOES;

static socklen_t bell_of(int rank, struct sockaddr_un *name) {
  *name = (struct sockaddr_un){.sun_family = AF_UNIX};
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)sprintf(name->sun_path + 1, "clue-bell-%d", rank));
}
static void hang_bell(const char *path) {
  const char *rank = getenv("MPI_LOCALRANKID");
  if (!rank || atoi(rank) >= HOST_RANKS) return;
  place = atoi(rank);
  int file = open(path, O_RDWR);
  void *all = file < 0 ? MAP_FAILED : mmap(0, HOST_RANKS * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  struct sockaddr_un name;
  bell = (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (all == MAP_FAILED || bell < 0 || bind(bell, (struct sockaddr *)&name, bell_of(place, &name))) { perror("testbed: bell must be there"); abort(); }
  close(file);
  asleep = all; spin = SPIN_SHARED;
  asleep[place] = 0;
}
static void ring(int echo) {
  if (!asleep || echo <= 0) return;
  unsigned char said = (unsigned char)echo;
  __sync_synchronize();
  for (int rank = 0; rank < HOST_RANKS; rank++) {
    struct sockaddr_un name;
    if (rank != place && asleep[rank]) sendto(bell, &said, 1, MSG_DONTWAIT, (struct sockaddr *)&name, bell_of(rank, &name));
  }
}
static void will_sleep(void) { if (asleep) { asleep[place] = 1; __sync_synchronize(); } }
/* A rank is awake again: by the bell, by data, or by time-out; after a time-out it polls again and goes back to sleep. */
static void woke(int other) {
  unsigned char said;
  if (!asleep) return;
  asleep[place] = 0;
  empty = spin / 2 - 1;
  echoes = other ? ECHOES : 0;
  while (recv(bell, &said, 1, MSG_DONTWAIT) == 1) { empty = 0; if (said - 1 > echoes) echoes = said - 1; }
}

/* Competitors of this host's ranks: each computing process gets a fair share of the processors, as from a scheduler with
   short time slices. The processes that compute at the end of a burst are counted. */
static volatile int *contenders;       /* number of competitors, then a flag for each rank; NULL: no competitors */
static double processors = 1;

static void meet(const char *path) {
  const char *rank = getenv("MPI_LOCALRANKID");
  int file = open(path, O_RDWR);
  void *all = file < 0 ? MAP_FAILED : mmap(0, (1 + HOST_RANKS) * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (all == MAP_FAILED) { perror("testbed: contenders must be there"); abort(); }
  close(file);
  if (!rank || atoi(rank) >= HOST_RANKS) return;
  place = atoi(rank);
  contenders = all;
}
static void computes(int whether) { if (contenders) contenders[1 + place] = whether; }
static double crowded(void) {
  if (!contenders) return 1;
  int computing = 0;
  for (int each = 0; each <= HOST_RANKS; each++) computing += contenders[each];
  return computing > processors ? computing / processors : 1;
}

__attribute__((constructor)) static void start(void) {
  const char *said;
  if ((said = getenv("CLUE_TESTBED_CONTENDERS"))) meet(said);
  if ((said = getenv("CLUE_TESTBED_PROCESSORS"))) processors = atof(said);
  if ((said = getenv("CLUE_TESTBED_BELLS"))) hang_bell(said);
  if ((said = getenv("CLUE_TESTBED_WHOLE"))) whole = atoi(said);
  if ((said = getenv("CLUE_TESTBED_FACTOR"))) factor = atof(said);
  if ((said = getenv("CLUE_TESTBED_INTERPRETER"))) interpreter = atof(said);
  if ((said = getenv("CLUE_TESTBED_QUIET"))) quiet = atoi(said);
  if ((said = getenv("CLUE_TESTBED_CORES"))) stay(said);
  if ((said = getenv("CLUE_TESTBED_SOFTIRQS"))) count_interruptions(said);
  prctl(PR_SET_TIMERSLACK, 1);
}

/* A paced rank has spare time in its bursts, but none within MPI: there it preempts computing ranks. Among these, those whose
   bursts have had the least CPU time so far go first (foreground-background scheduling). A burst begins at the highest
   level, which ends after SHORT_NS; each further level is LONGER times as long. So a burst waits for others in proportion to
   its own length, or for a short time, and makes up for it, as it would otherwise sleep. Without levels a short burst waited
   for the end of the others' long ones, on seven hosts up to 60 ms. A level is left only once, so ranks seldom take turns,
   and seldom displace each other's data from the caches. (Finer levels cost more than they gain: a signal takes some 30 us.)
   Source: L. Kleinrock, Queueing Systems, volume 2 (1976), section 4.6.
   This applies between MPI's start and its end; the rest of the program is not paced. */
enum { OTHER = 0, LEVELS = 6, COMMUNICATES = LEVELS + 1, SHORT_NS = 250000, LONGER = 4 };
static timer_t until_level;
static __thread volatile int bursting;
static __thread int64_t burst_began;   /* own_ns() at the beginning of the burst */
static void hurry(int priority) {
  struct sched_param how = {priority};
  if (factor > 1) sched_setscheduler(0, priority == OTHER ? SCHED_OTHER : SCHED_RR, &how);
}
static void alarm_after(int64_t ns) {
  struct itimerspec when = {.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)}};
  timer_settime(until_level, 0, &when, 0);
}
static void take_turns(int number) {
  int64_t had = own_ns() - burst_began, bound = SHORT_NS;
  int level = 0;
  (void)number;
  signals[TURNS]++; came[TURNS]++;
  if (!bursting) return;
  while (level < LEVELS - 1 && had >= bound) { level++; bound *= LONGER; }
  hurry(LEVELS - level);
  if (level < LEVELS - 1) alarm_after(bound - had);
}
static void watch_length(int on) {
  static int made;
  if (factor <= 1) return;
  if (!made++) {
    struct sigaction then = {.sa_handler = take_turns, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 3};
    event._sigev_un._tid = gettid();
    if (sigaction(SIGRTMAX - 3, &then, 0) || timer_create(CLOCK_MONOTONIC, &event, &until_level)) {
      perror("testbed: timer must be there"); abort();
    }
  }
  bursting = on;
  if (on) burst_began = own_ns();
  alarm_after(on ? SHORT_NS : 0);
  hurry(on ? LEVELS : COMMUNICATES);
}

/* A sampling profiler of bursts: a timer that runs only during bursts, and continues from one to the next, samples the program
   counter. The interpreter's share of a burst is that of its samples or, if it has few, of the last LOOKS samples. */
enum { LOOK_NS = 500000, LOOKS = 24, ENOUGH = 6 };
static double interpreted;
static long looks, looks_now, interpreted_now;
static timer_t until_look;
static struct itimerspec left_until_look = {{0, LOOK_NS}, {0, LOOK_NS}};
static uintptr_t interpreter_begin, interpreter_end;

static int code_of_interpreter(struct dl_phdr_info *info, size_t size, void *wanted) {
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = begin + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && (uintptr_t)wanted >= begin && (uintptr_t)wanted < end) {
      interpreter_begin = begin; interpreter_end = end;
      return 1;
    }
  }
  return 0;
}
static void look(int number, siginfo_t *how, void *context) {
  mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#ifdef __aarch64__
  uintptr_t at = machine->pc;
#else
  uintptr_t at = (uintptr_t)machine->gregs[REG_RIP];
#endif
  (void)number; (void)how;
  signals[INTERPRETER]++; came[INTERPRETER]++;
  if (depth) return;
  int in_it = at >= interpreter_begin && at < interpreter_end;
  if (looks < LOOKS) looks++;
  interpreted += (in_it - interpreted) / (double)looks;
  looks_now++; interpreted_now += in_it;
}
/* Slowdown of the current burst by the interpreter; and of the burst that ends. */
static double slower_now(void) {
  double share = looks_now < ENOUGH ? interpreted : (double)interpreted_now / (double)looks_now;
  return 1 + (interpreter - 1) * share;
}
static double slowed(void) {
  double slower = slower_now();
  looks_now = interpreted_now = 0;
  return slower;
}
static void watch_interpreter(int on) {
  static int made;
  if (interpreter <= 1) return;
  if (!made++) {
    struct sigaction then = {.sa_sigaction = look, .sa_flags = SA_RESTART | SA_SIGINFO};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 4};
    event._sigev_un._tid = gettid();
    dl_iterate_phdr(code_of_interpreter, dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault"));
    if (sigaction(SIGRTMAX - 4, &then, 0) || timer_create(CLOCK_MONOTONIC, &event, &until_look)) {
      perror("testbed: timer must be there"); abort();
    }
  }
  struct itimerspec none = {{0, 0}, {0, 0}};
  if (on) timer_settime(until_look, 0, &left_until_look, 0);
  else { timer_gettime(until_look, &left_until_look); timer_settime(until_look, 0, &none, 0); }
  if (!left_until_look.it_value.tv_nsec) left_until_look.it_value.tv_nsec = 1;
  left_until_look.it_interval.tv_nsec = LOOK_NS;
}

/* A signal takes some 30 us, which is much for a burst of 300 us and must not count as the program's time. Its cost is measured
   when MPI has started: by pieces of work with and without signals. */
enum { PIECE = 150000, PIECES = 15, SOON_NS = 30000 };
static int ascending(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}
static void measure_signal(int kind, timer_t timer) {
  struct itimerspec soon = {{0, 0}, {0, SOON_NS}}, none = {{0, 0}, {0, 0}};
  double took[2][PIECES];
  long before = came[kind];
  signal_ns[kind] = 0;
  for (int i = 0; i < 2 * PIECES; i++) {
    hurry(LEVELS);
    burst_began = own_ns();
    timer_settime(timer, 0, i % 2 ? &soon : &none, 0);
    double begin = cpu_now();
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (int j = 0; j < PIECE; j++) { a += j; b ^= a >> 1; c += j * 3; d ^= c; __asm__ volatile("" ::"r"(b), "r"(d)); }
    took[i % 2][i / 2] = cpu_now() - begin;
    timer_settime(timer, 0, &none, 0);
  }
  for (int i = 0; i < 2; i++) qsort(took[i], PIECES, sizeof(double), ascending);
  long each = (came[kind] - before) / PIECES;
  double cost = (took[1][PIECES / 2] - took[0][PIECES / 2]) / (double)(each > 0 ? each : 1);
  signal_ns[kind] = cost > 0 ? (int64_t)(1e9 * cost) : 0;
}
static void measure_signals(void) {
  if (factor > 1) { watch_length(1); measure_signal(TURNS, until_level); }
  if (interpreter > 1) {
    watch_interpreter(1); watch_interpreter(0);
    measure_signal(INTERPRETER, until_look);
    looks = looks_now = interpreted_now = 0; interpreted = 0;
  }
}

/* Wait until all ranks have left MPI's initialisation. Those that leave it first would otherwise compute at once, and keep the
   core from others that are still in it and not paced yet: on seven hosts up to 250 ms. */
enum { LONGEST_START = 20, START_NAP_NS = 100000 };
static void start_together(void) {
  const char *folder = getenv("CLUE_TESTBED_FIGURES"), *ranks = getenv("PMI_SIZE");
  char path[512];
  struct stat about = {0};
  if (!folder || !ranks) return;
  snprintf(path, sizeof path, "%s/started", folder);
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  double until = now(CLOCK_MONOTONIC) + LONGEST_START;
  if (file < 0 || write(file, "", 1) != 1) { perror("testbed: folder of figures must be writable"); abort(); }
  while (!fstat(file, &about) && about.st_size < atol(ranks) && now(CLOCK_MONOTONIC) < until) {
    struct timespec nap = {0, START_NAP_NS};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
  }
  if (about.st_size < atol(ranks)) {
    fprintf(stderr, "testbed: %ld of %s ranks have left MPI's initialisation within %d s, must be all\n", (long)about.st_size, ranks, LONGEST_START);
    abort();
  }
  close(file);
}

/* A burst has ended: sleep until it has taken as long as on a slow processor. Small errors are corrected in the next burst. If
   a burst took too long because no core of this computer was free, that time is lost; it is counted in "late". */
static void enter(void) {
  if (depth++) return;
  empty = 0; echoes = ECHOES;
  if (!began) return;
  double wall = now(CLOCK_MONOTONIC), cpu = cpu_now() - cpu0;
  watch_length(0);
  watch_interpreter(0);
  cpu *= slowed();
  bursts++; burst_cpu += cpu; interrupted += 1e-9 * (double)interrupted_ns() - interrupted0;
  if (factor > 1) {
    double end = wall0 + factor * crowded() * cpu + debt;
    if (end - wall > 30e-6) {
      struct timespec t = {(time_t)end, (long)((end - (time_t)end) * 1e9)};
      while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0) == EINTR) ;
      wall = now(CLOCK_MONOTONIC);
    }
    debt = end - wall;
    if (debt < -100e-6) { late -= debt; lates++; debt = 0; }
  }
  computes(0);
  burst_wall += wall - wall0;
  delayed0 = without_core();
  entered_wall = wall; entered_cpu = cpu_now();
}
static void leave(int initialises) {
  if (--depth) return;
  if (asleep) asleep[place] = 0;
  ring(ECHOES);
  if (entered_wall) delayed += without_core() - delayed0;
  if (initialises) { measure_signals(); hurry(COMMUNICATES); start_together(); }
  wall0 = now(CLOCK_MONOTONIC);  /* The burst begins now, before any call that may yield the core. */
  if (initialises) { began = 1; section_began = wall0; }
  if (began) { computes(1); watch_length(1); watch_interpreter(1); }
  cpu0 = cpu_now(); interrupted0 = 1e-9 * (double)interrupted_ns();
  if (entered_wall) { mpi_wall += wall0 - entered_wall; mpi_cpu += cpu0 - entered_cpu; }
}

/* Find the real function: the next in search order or, because Python loads the library outside the global scope, in any libmpi. */
static int look_in(struct dl_phdr_info *info, size_t size, void *wanted) {
  void **found = wanted;
  const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : 0;
  (void)size;
  if (!base || strncmp(base, "/libmpi", 7)) return 0;
  void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (library) { found[1] = dlsym(library, found[0]); dlclose(library); }
  return found[1] != 0;
}
static void *find(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) { void *wanted[2] = {(void *)name, 0}; dl_iterate_phdr(look_in, wanted); found = wanted[1]; }
  if (!found) { fprintf(stderr, "testbed: MPI library must have %s\n", name); abort(); }
  return found;
}

/* No wrapped MPI call has more than 14 arguments, all of integer class; they are passed on unchanged. */
#define TAKEN long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, long m, long n
#define GIVEN a, b, c, d, e, f, g, h, i, j, k, l, m, n
#define CALL(name, initialises) long name(TAKEN) { static long (*real)(TAKEN); if (!real) real = (long (*)(TAKEN))find(#name); \
  enter(); long result = real(GIVEN); leave(initialises); return result; }
static void write_figures(void);
/* Nothing is paced or measured from here on. */
static void end(void) {
  static int ended;
  hurry(OTHER); factor = interpreter = 1; contenders = NULL;
  if ((whole || barriers < 2) && !ended++) write_figures();
}
long MPI_Finalize(void) {
  long (*real)(void) = (long (*)(void))find("MPI_Finalize");
  enter(); end();
  long result = real(); leave(0); return result;
}
/* Called by program.py when the code of a program has ended, before Python removes modules and data. */
void clue_testbed_program_ends(void) { enter(); end(); leave(0); }
/* The measured section of a program lies between its first two barriers, unless the whole run is measured. */
long MPI_Barrier(TAKEN) {
  static long (*real)(TAKEN);
  if (!real) real = (long (*)(TAKEN))find("MPI_Barrier");
  enter();
  if (++barriers == 2 && !whole) write_figures();
  long result = real(GIVEN);
  if (barriers == 1 && !whole) { section_began = now(CLOCK_MONOTONIC); burst_cpu = interrupted = burst_wall = late = mpi_wall = mpi_cpu = delayed = entered_wall = 0; bursts = lates = 0; }
  leave(0);
  return result;
}
#define BOTH(name) CALL(MPI_##name, 0) CALL(MPI_##name##_c, 0)
#define ONE(name) CALL(MPI_##name, 0)
CALL(MPI_Init, 1) CALL(MPI_Init_thread, 1)
ONE(Wait) ONE(Waitall) ONE(Waitany) ONE(Waitsome) ONE(Test) ONE(Testall) ONE(Testany) ONE(Testsome)
ONE(Probe) ONE(Iprobe) ONE(Mprobe) ONE(Improbe) ONE(Start) ONE(Startall) ONE(Cancel) ONE(Request_free)
BOTH(Send) BOTH(Ssend) BOTH(Bsend) BOTH(Rsend) BOTH(Isend) BOTH(Issend) BOTH(Irsend) BOTH(Ibsend) BOTH(Recv) BOTH(Irecv)
BOTH(Mrecv) BOTH(Imrecv) BOTH(Sendrecv) BOTH(Sendrecv_replace) BOTH(Isendrecv) BOTH(Isendrecv_replace)
BOTH(Bcast) BOTH(Gather) BOTH(Gatherv) BOTH(Scatter) BOTH(Scatterv) BOTH(Allgather) BOTH(Allgatherv)
BOTH(Alltoall) BOTH(Alltoallv) BOTH(Alltoallw) BOTH(Reduce) BOTH(Allreduce) BOTH(Reduce_scatter) BOTH(Reduce_scatter_block)
BOTH(Scan) BOTH(Exscan) ONE(Ibarrier) BOTH(Ibcast) BOTH(Iallreduce) BOTH(Ireduce) BOTH(Igather) BOTH(Igatherv)
BOTH(Iscatter) BOTH(Iscatterv) BOTH(Iallgather) BOTH(Iallgatherv) BOTH(Ialltoall) BOTH(Ialltoallv) BOTH(Ialltoallw)
BOTH(Ireduce_scatter) BOTH(Ireduce_scatter_block) BOTH(Iscan) BOTH(Iexscan)
BOTH(Neighbor_allgather) BOTH(Neighbor_allgatherv) BOTH(Neighbor_alltoall) BOTH(Neighbor_alltoallv) BOTH(Neighbor_alltoallw)
BOTH(Ineighbor_allgather) BOTH(Ineighbor_allgatherv) BOTH(Ineighbor_alltoall) BOTH(Ineighbor_alltoallv) BOTH(Ineighbor_alltoallw)
ONE(Pready) ONE(Pready_range) ONE(Pready_list) ONE(Parrived)
/* These are collective: a rank that is not known to be within MPI would poll in them at the priority of one that computes, and keep the
   core from a rank that it waits for. */
ONE(Comm_split) ONE(Comm_split_type) ONE(Comm_dup) ONE(Comm_dup_with_info) ONE(Comm_idup) ONE(Comm_create) ONE(Comm_create_group)
ONE(Comm_create_from_group) ONE(Comm_idup_with_info) ONE(Comm_free) ONE(Comm_disconnect) ONE(Intercomm_create) ONE(Intercomm_merge)
ONE(Cart_create) ONE(Cart_map) ONE(Cart_sub) ONE(Graph_map) ONE(Graph_create) ONE(Dist_graph_create) ONE(Dist_graph_create_adjacent)
ONE(Win_create) ONE(Win_create_dynamic) ONE(Win_allocate) ONE(Win_allocate_shared) ONE(Win_free) ONE(Win_fence) ONE(Win_start)
ONE(Win_complete) ONE(Win_post) ONE(Win_wait) ONE(Win_lock) ONE(Win_unlock) ONE(Win_lock_all) ONE(Win_unlock_all)
ONE(Win_flush) ONE(Win_flush_all) ONE(Win_flush_local) ONE(Win_flush_local_all)
double MPI_Wtime(void) {
  static double (*real)(void);
  if (!real) real = (double (*)(void))find("MPI_Wtime");
  enter(); double time = real(); leave(0); return time;
}

/* Quiet waits */
static void track(int file, int domain, int type) {
  if (file < 0 || file >= FILES) return;
  is_tcp[file] = domain == AF_INET && (type & 0xff) == SOCK_STREAM;
  if (is_tcp[file] && file >= last_file) last_file = file + 1;
}
int socket(int domain, int type, int protocol) {
  static int (*real)(int, int, int); if (!real) real = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
  int file = real(domain, type, protocol); track(file, domain, type); return file;
}
static void accepted(int listening, int file) {
  if (listening >= 0 && listening < FILES) track(file, is_tcp[listening] ? AF_INET : AF_UNIX, SOCK_STREAM);
}
int accept(int s, struct sockaddr *address, socklen_t *length) {
  static int (*real)(int, struct sockaddr *, socklen_t *);
  if (!real) real = (int (*)(int, struct sockaddr *, socklen_t *))dlsym(RTLD_NEXT, "accept");
  int file = real(s, address, length); accepted(s, file); return file;
}
int accept4(int s, struct sockaddr *address, socklen_t *length, int flags) {
  static int (*real)(int, struct sockaddr *, socklen_t *, int);
  if (!real) real = (int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
  int file = real(s, address, length, flags); accepted(s, file); return file;
}
int close(int file) {
  static int (*real)(int); if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "close");
  if (file >= 0 && file < FILES) is_tcp[file] = 0;
  return real(file);
}
/* Tell whether a poll may sleep: inside MPI, and after several empty polls. */
static int may_sleep(int timeout) {
  if (!quiet || timeout || !depth) return 0;
  if (++empty == spin / 2) will_sleep();
  return empty > spin;
}
/* Sleep until one of these files is ready, or a rank rings the bell. */
static int nap(struct pollfd *files, nfds_t count, long ns) {
  ring(echoes);
  if (asleep) { files[count++] = (struct pollfd){bell, POLLIN, 0}; if (ns > BELL_NAP_NS) ns = BELL_NAP_NS; }
  struct timespec most = {0, ns};
  int found = ppoll(files, count, &most, NULL);
  if (asleep && found > 0 && files[count - 1].revents) found--;
  woke(found > 0);
  return found;
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
  static int (*real)(int, struct epoll_event *, int, int);
  if (!real) real = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
  struct timespec longest = {0, POLL_NS};
  struct pollfd files[2] = {{epoll, POLLIN, 0}};
  int sleeps = may_sleep(timeout);
  if (sleeps && asleep) nap(files, 1, POLL_NS);
  int found = sleeps && !asleep ? (int)syscall(SYS_epoll_pwait2, epoll, events, most, &longest, NULL, 0)
                                : real(epoll, events, most, timeout);
  if (found < 0 && errno == ENOSYS) found = real(epoll, events, most, 1);
  if (found < 0 && errno == EINTR && timeout == 0) found = 0;
  if (found > 0) empty = 0;
  return found;
}
int poll(struct pollfd *files, nfds_t count, int timeout) {
  static int (*real)(struct pollfd *, nfds_t, int);
  if (!real) real = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
  struct timespec longest = {0, POLL_NS};
  int sleeps = may_sleep(timeout);
  if (sleeps && asleep && count <= FILES_AT_ONCE) {
    struct pollfd all[FILES_AT_ONCE + 1];
    memcpy(all, files, count * sizeof *files);
    nap(all, count, POLL_NS);
  }
  int found = sleeps && !asleep ? ppoll(files, count, &longest, NULL) : real(files, count, timeout);
  if (found < 0 && errno == EINTR && timeout == 0) found = 0;
  if (found > 0) empty = 0;
  return found;
}
/* A library that yields between polls waits for any of its connections; naps grow with the time waited. */
int sched_yield(void) {
  if (!quiet || !depth) return (int)syscall(SYS_sched_yield);
  if (++empty == 1) waiting_since = now(CLOCK_MONOTONIC);
  if (empty == spin / 2) will_sleep();
  if (empty <= spin) return (int)syscall(SYS_sched_yield);
  struct pollfd files[FILES_AT_ONCE + 1];
  nfds_t count = 0;
  for (int file = 0; file < last_file && count < FILES_AT_ONCE; file++)
    if (is_tcp[file]) { files[count].fd = file; files[count++].events = POLLIN; }
  double us = (now(CLOCK_MONOTONIC) - waiting_since) * 1e6 / 8;
  if (nap(files, count, (long)(1000 * (us < 20 ? 20 : us > YIELD_US ? YIELD_US : us))) > 0 && !asleep) empty = spin / 2;
  return 0;
}

static void write_figures(void) {
  const char *folder = getenv("CLUE_TESTBED_FIGURES"), *rank = getenv("PMI_RANK");
  char path[512];
  section_ended = now(CLOCK_MONOTONIC);
  if (!folder) return;
  snprintf(path, sizeof path, "%s/%s.json", folder, rank ? rank : "0");
  FILE *file = fopen(path, "w");
  if (!file) return;
  char known[32];
  snprintf(known, sizeof known, "%.6f", interrupted);
  fprintf(file, "{\"bursts\":%ld,\"burst_cpu\":%.6f,\"burst_wall\":%.6f,\"late\":%.6f,\"lates\":%ld,\"mpi_wall\":%.6f,"
          "\"mpi_cpu\":%.6f,\"delayed\":%.6f,\"began\":%.9f,\"ended\":%.9f,\"speed\":%.4f,\"interrupted\":%s}\n", bursts, burst_cpu, burst_wall, late, lates, mpi_wall, mpi_cpu, delayed,
          section_began, section_ended, ran > 0 ? ran_at_best / ran : 1, interruptions ? known : "null");
  fclose(file);
}
