#pragma once
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

// PQpipelineSync writes to the socket at once. Since libpq 17 a Sync can wait in the buffer like everything else.
static inline int countersign_pq_sync(PGconn *connection) {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
  return PQsendPipelineSync(connection);
#else
  return PQpipelineSync(connection);
#endif
}

// The notice that a commit has stopped waiting for the standby; empty until it comes.
typedef struct {
  char unreplicated[200];
} countersign_pq_notices;

// PostgreSQL warns from SyncRepWaitForLSN (syncrep.c, 9.1 to 18) only of a commit. Its texts are translated, and other
// warnings have the same code.
static inline void countersign_pq_take_notice(void *data, const PGresult *notice) {
  countersign_pq_notices *notices = (countersign_pq_notices *)data;
  const char *function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  if (function && strncmp(function, "SyncRep", 7) == 0)
    snprintf(notices->unreplicated, sizeof notices->unreplicated, "%s", text ? text : "no replication");
}

// Without a receiver, libpq writes the server's notices to stderr.
static inline void countersign_pq_receive_notices(PGconn *connection, countersign_pq_notices *notices) {
  PQsetNoticeReceiver(connection, countersign_pq_take_notice, notices);
}
