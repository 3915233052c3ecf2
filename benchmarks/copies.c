// What reorders are measured against, and with: two copies, and loops that time without Python in between.

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LINE = 64 };

// One line to memory past the caches; `destination` lies at the start of a line.
#if defined(__AVX512F__)
const char streaming_instructions[] = "AVX-512";
static inline void stream_line(char *destination, const char *source) {
  _mm512_stream_si512((void *)destination, _mm512_loadu_si512(source));
}
#elif defined(__AVX__)
const char streaming_instructions[] = "AVX";
static inline void stream_line(char *destination, const char *source) {
  for (int at = 0; at < LINE; at += 32)
    _mm256_stream_si256((__m256i *)(destination + at), _mm256_loadu_si256((const __m256i *)(source + at)));
}
#elif defined(__SSE2__)
const char streaming_instructions[] = "SSE2";
static inline void stream_line(char *destination, const char *source) {
  for (int at = 0; at < LINE; at += 16)
    _mm_stream_si128((__m128i *)(destination + at), _mm_loadu_si128((const __m128i *)(source + at)));
}
#else
const char streaming_instructions[] = "none: an ordinary copy";
static inline void stream_line(char *destination, const char *source) { memcpy(destination, source, LINE); }
#endif

static void fence(void) {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

static void stream(char *destination, const char *source, size_t bytes) {
  size_t done = -(uintptr_t)destination % LINE;
  if (done > bytes)
    done = bytes;
  memcpy(destination, source, done);
  for (; done + LINE <= bytes; done += LINE)
    stream_line(destination + done, source + done);
  memcpy(destination + done, source + done, bytes - done);
  fence();
}

// Where the part `part` of `parts` begins, at a line of the buffer.
static size_t part_start(size_t bytes, int part, int parts) {
  return part == parts ? bytes : bytes / LINE * (size_t)part / (size_t)parts * LINE;
}

void copy_streaming(void *destination, const void *source, size_t bytes, int threads) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static, 1)
  for (int part = 0; part < threads; part++) {
    const size_t start = part_start(bytes, part, threads), end = part_start(bytes, part + 1, threads);
    stream((char *)destination + start, (const char *)source + start, end - start);
  }
}

void copy_cached(void *destination, const void *source, size_t bytes, int threads) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static, 1)
  for (int part = 0; part < threads; part++) {
    const size_t start = part_start(bytes, part, threads), end = part_start(bytes, part + 1, threads);
    memcpy((char *)destination + start, (const char *)source + start, end - start);
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Each of these: the seconds that it takes, with `calls` those of so many calls.

double time_copy(void (*copy)(void *, const void *, size_t, int), void *destination, const void *source, size_t bytes,
                 int threads, int64_t calls) {
  const double start = seconds();
  for (int64_t call = 0; call < calls; call++)
    copy(destination, source, bytes, threads);
  return seconds() - start;
}

// A kernel with up to four further pointers: scales, zero points, places of compensation sums.
static inline void call_reorder(void (*reorder)(void), const void *source, void *destination, int count,
                                void *const *more) {
  switch (count) {
  case 0:
    ((void (*)(const void *, void *))reorder)(source, destination);
    break;
  case 1:
    ((void (*)(const void *, void *, void *))reorder)(source, destination, more[0]);
    break;
  case 2:
    ((void (*)(const void *, void *, void *, void *))reorder)(source, destination, more[0], more[1]);
    break;
  case 3:
    ((void (*)(const void *, void *, void *, void *, void *))reorder)(source, destination, more[0], more[1], more[2]);
    break;
  case 4:
    ((void (*)(const void *, void *, void *, void *, void *, void *))reorder)(source, destination, more[0], more[1],
                                                                            more[2], more[3]);
    break;
  }
}

double time_reorder(void (*reorder)(void), const void *source, void *destination, int count, void *const *more,
                    int64_t calls) {
  if (count > 4)
    return -1;
  const double start = seconds();
  for (int64_t call = 0; call < calls; call++)
    call_reorder(reorder, source, destination, count, more);
  return seconds() - start;
}

// Reads every line of a result, as who uses it does.
double time_read(const void *result, size_t bytes) {
  const double start = seconds();
  uint64_t sum = 0;
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, (const char *)result + at, sizeof word);
    sum += word;
  }
  __asm__ volatile("" : : "r"(sum));
  return seconds() - start;
}

// oneDNN's primitives are put into a stream, and waited for together.
double time_primitive(int (*execute)(void *, void *, int, const void *), int (*wait)(void *), void *primitive,
                      void *stream, int argument_count, const void *arguments, int64_t calls) {
  const double start = seconds();
  for (int64_t call = 0; call < calls; call++)
    if (execute(primitive, stream, argument_count, arguments) != 0)
      return -1;
  return wait(stream) == 0 ? seconds() - start : -1;
}
