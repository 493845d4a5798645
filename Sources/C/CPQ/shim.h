#pragma once
#include <libpq-fe.h>

// PQpipelineSync writes to the socket at once. Since libpq 17 a Sync can wait in the buffer like everything else.
static inline int countersign_pq_sync(PGconn *connection) {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
  return PQsendPipelineSync(connection);
#else
  return PQpipelineSync(connection);
#endif
}

// Without a receiver, libpq writes the server's notices to stderr.
static inline void countersign_pq_drop_notice(void *data, const PGresult *notice) {
  (void)data;
  (void)notice;
}

static inline void countersign_pq_drop_notices(PGconn *connection) {
  PQsetNoticeReceiver(connection, countersign_pq_drop_notice, 0);
}
