// Runs the reorders of one file against memory that must not be touched: driver DATA FIRST [SKIPPED ...]
//
// All buffers lie between pages that cannot be accessed: in one run they start at a page, in the next they end at
// one, in the third they are allocated, for sanitizers to see their ends. What is left of a page is poisoned, and so
// is the destination. Prints a line for each kernel that did wrong, and `done` at the end. A kernel that is stopped by
// a guard page ends the program, with its number; the one who asked starts again behind it.
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POISON = 0xA5, PAGE = 65536, PLACES = 3 };  // a multiple of every page size
enum { LINE = 200, MOST = 8 };  // arguments of a kernel

typedef struct {
  unsigned char *start;  // of all that may be accessed
  unsigned char *bytes;
  size_t size, room;
} Buffer;

void call(int64_t number, const void *source, void *destination, const void *const *arguments);

static const char *const places[PLACES] = {"behind a guard page", "before a guard page", "allocated"};
static volatile int64_t running = -1;
static Buffer source, destination, arguments[MOST];

static Buffer placed(size_t size, int place) {
  if (place == 2) {
    unsigned char *bytes = malloc(size);
    return (Buffer){bytes, bytes, size, size};
  }
  const size_t room = (size + PAGE - 1) / PAGE * PAGE;
  unsigned char *all = mmap(NULL, room + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || mprotect(all + PAGE, room, PROT_READ | PROT_WRITE)) {
    perror("guard pages");
    exit(2);
  }
  return (Buffer){all + PAGE, all + PAGE + (place ? room - size : 0), size, room};
}

static void release(Buffer buffer, int place) {
  if (place == 2) {
    free(buffer.start);
  } else {
    munmap(buffer.start - PAGE, buffer.room + 2 * PAGE);
  }
}

// The first byte that is not as it should be, from the start of the buffer, or INT64_MAX.
static int64_t first_wrong(Buffer buffer, const unsigned char *expected) {
  const int64_t before = buffer.bytes - buffer.start, room = (int64_t)buffer.room;
  for (int64_t k = 0; k < room; k++) {
    const int64_t at = k - before;
    if (buffer.start[k] != (at < 0 || at >= (int64_t)buffer.size ? POISON : expected[at])) {
      return at;
    }
  }
  return INT64_MAX;
}

static void report(const char *side, int place, int64_t at) {
  if (at != INT64_MAX) {
    printf("%" PRId64 " %s is wrong at byte %" PRId64 ", %s\n", (int64_t)running, side, at, places[place]);
  }
}

// The sizes are those of the source, of the destination, the number of arguments and the size of each.
static void run(int place, const int64_t *sizes, const unsigned char *read) {
  const size_t source_size = (size_t)sizes[0], destination_size = (size_t)sizes[1];
  const unsigned char *expected = read + source_size, *given = expected + destination_size;
  const void *pointers[MOST] = {0};
  for (int64_t k = 0; k < sizes[2]; k++) {
    arguments[k] = placed((size_t)sizes[3 + k], place);
    memset(arguments[k].start, POISON, arguments[k].room);
    pointers[k] = memcpy(arguments[k].bytes, given, arguments[k].size);
    given += sizes[3 + k];
  }
  source = placed(source_size, place);
  destination = placed(destination_size, place);
  memset(source.start, POISON, source.room);
  memset(destination.start, POISON, destination.room);
  memcpy(source.bytes, read, source_size);
  call(running, source.bytes, destination.bytes, pointers);
  report("destination", place, first_wrong(destination, expected));
  report("source", place, first_wrong(source, read));
  release(source, place);
  release(destination, place);
  for (int64_t k = 0; k < sizes[2]; k++) {
    release(arguments[k], place);
  }
}

static void stopped(int signal, siginfo_t *info, void *context) {
  (void)context;
  char line[LINE];
  const unsigned char *at = info->si_addr;
  const int length = snprintf(
      line, LINE, "%" PRId64 " signal %d: byte %" PRId64 " of %zu of the source, %" PRId64 " of %zu of the destination\n",
      (int64_t)running, signal, (int64_t)(at - source.bytes), source.size, (int64_t)(at - destination.bytes),
      destination.size);
  const ssize_t written = write(STDOUT_FILENO, line, (size_t)length);
  _exit(written == length ? 3 : 4);
}

static const unsigned char *contents(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) {
    perror(path);
    exit(2);
  }
  const size_t size = (size_t)ftell(file);
  unsigned char *all = malloc(size);
  rewind(file);
  if (!all || fread(all, 1, size, file) != size) {
    perror(path);
    exit(2);
  }
  fclose(file);
  return all;
}

// The file: the number of kernels, then for each the sizes of source and destination, the number of arguments and their
// sizes, then the bytes of all, those of the destination as they should be written; all numbers are 64 bits.
int main(int argc, char **argv) {
  if (argc != 3) {
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct sigaction action = {.sa_sigaction = stopped, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  sigaction(SIGILL, &action, NULL);
  const unsigned char *at = contents(argv[1]);
  int64_t count, sizes[3 + MOST];
  memcpy(&count, at, sizeof count);
  at += sizeof count;
  for (int64_t number = 0; number < count; number++) {
    memcpy(sizes, at, 3 * sizeof *sizes);
    at += 3 * sizeof *sizes;
    if (sizes[2] > MOST) {
      return 2;
    }
    memcpy(sizes + 3, at, (size_t)sizes[2] * sizeof *sizes);
    at += (size_t)sizes[2] * sizeof *sizes;
    if (number >= atoll(argv[2])) {
      running = number;
      for (int place = 0; place < PLACES; place++) {
        run(place, sizes, at);
      }
    }
    at += sizes[0] + sizes[1];
    for (int64_t k = 0; k < sizes[2]; k++) {
      at += sizes[3 + k];
    }
  }
  puts("done");
  return 0;
}
