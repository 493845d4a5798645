#pragma once
#include <linux/filter.h>
#include <sys/socket.h>
#include <uv.h>

// Makes a listening socket drop every packet that would begin a connection. The structures are in headers of the kernel,
// which Swift's Glibc does not show.
static inline int countersign_drop_packets(int descriptor) {
  struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  struct sock_fprog program = {.len = 1, .filter = &nothing};
  return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}
