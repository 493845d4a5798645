#include <sys/syscall.h>
#include <unistd.h>

// Swift's Glibc module is built without _GNU_SOURCE, and glibc hides memfd_create without it.
static inline int countersign_memory_file(const char *name) {
  return (int)syscall(SYS_memfd_create, name, 1U /* MFD_CLOEXEC */);
}
