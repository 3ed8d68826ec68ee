/* Measures how long each thread of this computer has been interrupted by the kernel's soft interrupts.

   The kernel handles most frames of a shaped link in soft interrupts: when a timer fires, whatever thread the core runs
   at that moment handles the frame, and pays for it with its CPU time, unless the kernel was built to tell the two apart
   (CONFIG_IRQ_TIME_ACCOUNTING). On a testbed that thread is often a rank that computes, and pace.c would multiply the time
   by its factor. So two small programs in the kernel (BPF) watch the beginning and end of each soft interrupt, and add up
   its time for the interrupted thread. pace.c deducts it.

   softirqs FILE   writes the ID of the table of times to FILE, or why there is none, and runs until it is killed.
   The table has a 64-bit number of nanoseconds for each thread, at its ID modulo THREADS; see pace.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 1 << 16 };
/* Number of the namespace that has the kernel's own IDs of threads (PROC_PID_INIT_INO of its linux/proc_ns.h). */
#define KERNELS_IDS 0xEFFFFFFCU

static const char *file;

/* Write a line in one piece: whoever waits for the file must not read half of it. */
static void say(const char *line) {
  char draft[4096];
  snprintf(draft, sizeof draft, "%s.draft", file);
  int to = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (to < 0 || write(to, line, strlen(line)) < 0 || rename(draft, file)) { perror("softirqs: file must be writable"); exit(1); }
  close(to);
}
static void fail(const char *what) {
  char line[256];
  snprintf(line, sizeof line, "%s: %s", what, strerror(errno));
  say(line);
  exit(1);
}

static int bpf(int command, union bpf_attr *how) { return (int)syscall(SYS_bpf, command, how, sizeof *how); }

static int table(int type, uint32_t entries, uint32_t flags) {
  union bpf_attr how = {.map_type = type, .key_size = 4, .value_size = 8, .max_entries = entries, .map_flags = flags};
  int made = bpf(BPF_MAP_CREATE, &how);
  if (made < 0) fail("table");
  return made;
}

/* Instructions, by their names in the kernel's documentation (Documentation/bpf/standardization/instruction-set.rst). UNLESS skips
   some: each macro is one instruction, but LOOK_UP is six. The kernel refuses a program that jumps wrong. */
#define DO(op, to, from, away, value) ((struct bpf_insn){.code = (op), .dst_reg = (to), .src_reg = (from), .off = (away), .imm = (value)})
#define CALL(function) DO(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define COPY(to, from) DO(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, value) DO(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)
#define LOAD(to, from) DO(BPF_LDX | BPF_MEM | BPF_DW, to, from, 0, 0)
#define STORE(to, from) DO(BPF_STX | BPF_MEM | BPF_DW, to, from, 0, 0)
#define UNLESS(what, ahead) DO(BPF_JMP | BPF_JEQ | BPF_K, what, 0, ahead, 0)
#define END DO(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* R0 = address of the table's entry for the 32-bit key in R0, or 0. */
#define LOOK_UP(table) DO(BPF_STX | BPF_MEM | BPF_W, 10, 0, -4, 0), DO(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, table), \
  DO(0, 0, 0, 0, 0), COPY(2, 10), DO(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4), CALL(BPF_FUNC_map_lookup_elem)

static void watch(const char *event, const struct bpf_insn *program, size_t count) {
  static char log[1 << 14];
  union bpf_attr how = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = (uint64_t)(uintptr_t)program, .insn_cnt = (uint32_t)count,
                        .license = (uint64_t)(uintptr_t)"Dual BSD/GPL", .log_buf = (uint64_t)(uintptr_t)log, .log_size = sizeof log, .log_level = 1};
  int loaded = bpf(BPF_PROG_LOAD, &how);
  if (loaded < 0) { fputs(log, stderr); fail("program"); }
  union bpf_attr where = {.raw_tracepoint = {.name = (uint64_t)(uintptr_t)event, .prog_fd = (uint32_t)loaded}};
  if (bpf(BPF_RAW_TRACEPOINT_OPEN, &where) < 0) fail(event);
}

int main(int count, char **words) {
  if (count != 2) { fprintf(stderr, "softirqs: FILE\n"); return 2; }
  file = words[1];
  /* In a container that has IDs of its own, pace.c would read the times of other threads. */
  struct stat ids;
  if (stat("/proc/self/ns/pid", &ids) || ids.st_ino != KERNELS_IDS) {
    say("threads must have the IDs that the kernel gave them, got others, as in a container");
    return 1;
  }
  struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_MEMLOCK, &all);
  /* A core handles one soft interrupt at a time, in one thread. */
  int began = table(BPF_MAP_TYPE_PERCPU_ARRAY, 1, 0), times = table(BPF_MAP_TYPE_ARRAY, THREADS, BPF_F_MMAPABLE);
  const struct bpf_insn begins[] = {
    CALL(BPF_FUNC_ktime_get_ns), COPY(6, 0),
    SET(0, 0), LOOK_UP(began), UNLESS(0, 1), STORE(0, 6),
    SET(0, 0), END};
  const struct bpf_insn ends[] = {
    CALL(BPF_FUNC_ktime_get_ns), COPY(6, 0),
    SET(0, 0), LOOK_UP(began), UNLESS(0, 17), LOAD(7, 0), UNLESS(7, 15),
    SET(1, 0), STORE(0, 1), DO(BPF_ALU64 | BPF_SUB | BPF_X, 6, 7, 0, 0),
    CALL(BPF_FUNC_get_current_pid_tgid), DO(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, THREADS - 1),
    LOOK_UP(times), UNLESS(0, 3), LOAD(1, 0), DO(BPF_ALU64 | BPF_ADD | BPF_X, 1, 6, 0, 0), STORE(0, 1),
    SET(0, 0), END};
  watch("softirq_entry", begins, sizeof begins / sizeof *begins);
  watch("softirq_exit", ends, sizeof ends / sizeof *ends);
  struct bpf_map_info about = {0};
  union bpf_attr asks = {.info = {.bpf_fd = (uint32_t)times, .info_len = sizeof about, .info = (uint64_t)(uintptr_t)&about}};
  if (bpf(BPF_OBJ_GET_INFO_BY_FD, &asks) < 0) fail("ID of the table");
  char line[32];
  snprintf(line, sizeof line, "%u", about.id);
  say(line);
  for (;;) pause();
}
