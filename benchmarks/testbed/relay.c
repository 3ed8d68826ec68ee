/* Adds latency to cables: a frame that enters at one end leaves at the other after a delay, in order, as with the
   kernel's netem.

   relay FIRST SECOND SECONDS [FIRST SECOND SECONDS ...]
   FIRST and SECOND are network devices of this namespace; each cable has a delay of its own, the same both ways. Runs
   until it is killed. A virtio header keeps what a frame's device knows of it (its checksum may still be missing). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Capacity of a cable: 4096 frames of 1500 bytes are 0.4 s at 120 Mbit/s. */
enum { MOST = 128, FRAMES = 4096, LONGEST = 9216, BUFFER = 8 << 20, AT_ONCE = 32, PRIORITY = 20 };

struct frame { int64_t due; ssize_t length; unsigned char bytes[LONGEST]; };
/* One direction of a cable: from one device to another. Only pages of frames that were used take memory. */
struct way { int from, to; int64_t delay; unsigned entered, left; struct frame *frames; };

static struct way ways[MOST];
static int count;

static void fail(const char *what) { perror(what); exit(1); }

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int opened(const char *device) {
  int s = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL)), on = 1, size = BUFFER;
  struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(device)};
  if (s < 0 || !at.sll_ifindex) fail(device);
  if (setsockopt(s, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on)) fail("relay: virtio headers");
  if (setsockopt(s, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on)) fail("relay: own frames");
  if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size)) fail("relay: buffer");
  if (setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size)) fail("relay: buffer");
  if (bind(s, (struct sockaddr *)&at, sizeof at)) fail(device);
  return s;
}

static void lay(int from, int to, double seconds) {
  struct way *way = ways + count++;
  *way = (struct way){from, to, (int64_t)(seconds * 1e9), 0, 0, calloc(FRAMES, sizeof(struct frame))};
  if (!way->frames) fail("relay: memory");
}

/* Take in arrived frames; those that a full cable cannot hold are lost, as in a switch. */
static void take(struct way *way) {
  for (int i = 0; i < AT_ONCE; i++) {
    static struct frame lost;
    int full = way->entered - way->left == FRAMES;
    struct frame *frame = full ? &lost : way->frames + way->entered % FRAMES;
    frame->length = recv(way->from, frame->bytes, LONGEST, MSG_TRUNC);
    if (frame->length <= 0) return;
    if (frame->length > LONGEST) { fprintf(stderr, "relay: frame must have at most %d bytes, got %zd\n", LONGEST, frame->length); continue; }
    if (full) { fprintf(stderr, "relay: cable is full\n"); continue; }
    frame->due = now() + way->delay;
    way->entered++;
  }
}

static void give(struct way *way) {
  for (; way->entered != way->left; way->left++) {
    struct frame *frame = way->frames + way->left % FRAMES;
    if (frame->due > now()) return;
    if (send(way->to, frame->bytes, (size_t)frame->length, 0) < 0) {
      if (errno == EAGAIN) return;
      if (errno != ENOBUFS && errno != ENETDOWN) fail("relay: send");  /* A full queue loses a frame, as on a switch. */
    }
  }
}

/* Time until the next frame is due, at most a second. */
static struct timespec pause_until_due(void) {
  int64_t left = 1000000000LL, at = now();
  for (int i = 0; i < count; i++) {
    if (ways[i].entered == ways[i].left) continue;
    int64_t due = ways[i].frames[ways[i].left % FRAMES].due - at;
    if (due < left) left = due < 0 ? 0 : due;
  }
  return (struct timespec){left / 1000000000LL, left % 1000000000LL};
}

int main(int words, char **word) {
  if (words < 4 || (words - 1) % 3 || (words - 1) / 3 * 2 > MOST) { fprintf(stderr, "relay: FIRST SECOND SECONDS ...\n"); return 2; }
  struct pollfd files[MOST];
  for (int i = 1; i < words; i += 3) {
    int first = opened(word[i]), second = opened(word[i + 1]);
    lay(first, second, atof(word[i + 2]));
    lay(second, first, atof(word[i + 2]));
  }
  for (int i = 0; i < count; i++) files[i] = (struct pollfd){ways[i].from, POLLIN, 0};
  /* Late frames would be unstated latency: wake exactly, and before computing processes. */
  prctl(PR_SET_TIMERSLACK, 1);
  struct sched_param how = {PRIORITY};
  sched_setscheduler(0, SCHED_FIFO, &how);
  for (;;) {
    struct timespec nap = pause_until_due();
    ppoll(files, (nfds_t)count, &nap, 0);
    for (int i = 0; i < count; i++) {
      if (files[i].revents & POLLIN) take(ways + i);
      give(ways + i);
    }
  }
}
