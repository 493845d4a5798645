#pragma once
#include <linux/filter.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <uv.h>

// Makes a listening socket drop every packet that would begin a connection. The structures are in headers of the kernel,
// which Swift's Glibc does not show.
static inline void countersign_drop_packets(int descriptor) {
  struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  struct sock_fprog program = {.len = 1, .filter = &nothing};
  setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

// Where Swift's runtime would put a job that any thread may run (swift/Runtime/Concurrency.h). A Swift function, so both
// it and what is put there have Swift's calling convention.
extern void *swift_task_enqueueGlobal_hook;
typedef __attribute__((swiftcall)) void (*countersign_enqueue)(void *job);

// The event loop's: takes a job, or returns false to leave it to the runtime's threads.
bool countersign_take_job(void *job);

static __attribute__((swiftcall)) void countersign_enqueue_global(void *job, countersign_enqueue original) {
  if (!countersign_take_job(job)) original(job);
}

// From now on the event loop is asked first who runs such a job.
static inline void countersign_offer_jobs(void) { swift_task_enqueueGlobal_hook = (void *)countersign_enqueue_global; }
