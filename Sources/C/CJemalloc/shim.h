#pragma once
// Linking it is nearly all that is needed: its malloc and free come before those of the C library.
#include <jemalloc/jemalloc.h>
#include <stdio.h>

// Has pages that are free given back to the system after so many milliseconds, in arenas that are there and in those to come.
// Returns 0, or what mallctl could not do.
static inline int countersign_give_pages_back_after(ssize_t milliseconds) {
  unsigned arenas = 0;
  size_t size = sizeof arenas;
  int status = mallctl("arenas.dirty_decay_ms", NULL, NULL, &milliseconds, sizeof milliseconds);
  if (status == 0) status = mallctl("arenas.narenas", &arenas, &size, NULL, 0);
  for (unsigned arena = 0; status == 0 && arena < arenas; arena++) {
    char name[64];
    snprintf(name, sizeof name, "arena.%u.dirty_decay_ms", arena);
    // One that has not been used yet is not there, and gets what was set above.
    mallctl(name, NULL, NULL, &milliseconds, sizeof milliseconds);
  }
  return status;
}

// The version, or NULL if mallctl could not tell it.
static inline const char *countersign_allocator_version(void) {
  const char *version = NULL;
  size_t size = sizeof version;
  return mallctl("version", &version, &size, NULL, 0) == 0 ? version : NULL;
}
