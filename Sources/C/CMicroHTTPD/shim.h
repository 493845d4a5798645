#pragma once
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

// MHD_start_daemon is variadic, which Swift cannot call. The daemon gets no thread: it is run by the event loop, which
// watches its epoll descriptor. Nor does it listen: connections are given to it.
static inline struct MHD_Daemon *countersign_mhd_start(unsigned int connections, unsigned int idle_seconds,
                                                       size_t connection_memory,
                                                       void *(*target)(void *, const char *, struct MHD_Connection *),
                                                       MHD_AccessHandlerCallback handler,
                                                       MHD_RequestCompletedCallback completed,
                                                       MHD_NotifyConnectionCallback connection,
                                                       size_t (*unescape)(void *, struct MHD_Connection *, char *),
                                                       void *context) {
  return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handler,
                          context, MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT,
                          idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
                          MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_NOTIFY_CONNECTION, connection,
                          context, MHD_OPTION_UNESCAPE_CALLBACK, unescape, context, MHD_OPTION_URI_LOG_CALLBACK, target,
                          context, MHD_OPTION_END);
}

// MHD_get_daemon_info is variadic too.
static inline int countersign_mhd_epoll_descriptor(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info == NULL ? -1 : info->epoll_fd;
}

// MHD_get_connection_info is variadic too. How long the request line and the header fields were.
static inline size_t countersign_mhd_head_size(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info == NULL ? 0 : info->header_size;
}

// The status of the answer that libmicrohttpd has queued last for a request; 0 when it has queued none.
static inline unsigned int countersign_mhd_status(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS);
  return info == NULL ? 0 : info->http_status;
}

// The connection's socket, to be written to and not kept; -1 when there is none.
static inline int countersign_mhd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

// What the server keeps about the connection; NULL when it keeps nothing.
static inline void *countersign_mhd_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

// The bytes that have arrived at a socket and that nobody has read; ioctl is variadic.
static inline int countersign_waiting(int descriptor) {
  int waiting = 0;
  return ioctl(descriptor, FIONREAD, &waiting) == 0 ? waiting : 0;
}

// Swift does not import macros with casts. What the reader of a streamed answer returns at the end of the body, and
// when the body breaks off; and the size of a body whose end nobody knows yet.
static const ssize_t countersign_mhd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t countersign_mhd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;
static const uint64_t countersign_mhd_unknown_size = MHD_SIZE_UNKNOWN;

// Takes the ownership of a connected socket, also when it fails. No limit of libmicrohttpd depends on the address.
static inline enum MHD_Result countersign_mhd_add(struct MHD_Daemon *daemon, int descriptor) {
  struct sockaddr_storage peer;
  socklen_t length = sizeof peer;
  memset(&peer, 0, sizeof peer);
  // A peer that is gone already has no address.
  if (getpeername(descriptor, (struct sockaddr *)&peer, &length) != 0 || length > sizeof peer) {
    memset(&peer, 0, sizeof peer);
    peer.ss_family = AF_INET;
    length = sizeof(struct sockaddr_in);
  }
  return MHD_add_connection(daemon, descriptor, (struct sockaddr *)&peer, length);
}

// Writes the numeric address of a socket's peer into a buffer of 46 bytes: an IPv4 address also where the system maps it
// to an IPv6 address. Returns 0 where the address is not known, as when the peer is gone already.
static inline int countersign_peer(int descriptor, char text[INET6_ADDRSTRLEN]) {
  struct sockaddr_storage peer;
  socklen_t length = sizeof peer;
  memset(&peer, 0, sizeof peer);
  if (getpeername(descriptor, (struct sockaddr *)&peer, &length) != 0) return 0;
  if (peer.ss_family == AF_INET) {
    return inet_ntop(AF_INET, &((struct sockaddr_in *)&peer)->sin_addr, text, INET6_ADDRSTRLEN) != NULL;
  }
  if (peer.ss_family != AF_INET6) return 0;
  const struct in6_addr *address = &((const struct sockaddr_in6 *)&peer)->sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(address)) return inet_ntop(AF_INET, address->s6_addr + 12, text, INET6_ADDRSTRLEN) != NULL;
  return inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN) != NULL;
}
