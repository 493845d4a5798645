#pragma once
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>

// amqp_login_with_properties is variadic, which Swift cannot call. It also takes the client's capabilities as a
// nested table of C strings; without "connection.blocked" the broker never tells of an alarm.
static inline amqp_rpc_reply_t countersign_amqp_login(amqp_connection_state_t state, const char *vhost, int heartbeat,
                                                      const char *name, const char *user, const char *password) {
  const char *names[] = {"connection.blocked", "consumer_cancel_notify", "publisher_confirms", "basic.nack",
                         "authentication_failure_close"};
  amqp_table_entry_t capabilities[5];
  for (int i = 0; i < 5; i++) {
    capabilities[i].key = amqp_cstring_bytes(names[i]);
    capabilities[i].value.kind = AMQP_FIELD_KIND_BOOLEAN;
    capabilities[i].value.value.boolean = 1;
  }
  amqp_table_entry_t properties[3];
  properties[0].key = amqp_cstring_bytes("capabilities");
  properties[0].value.kind = AMQP_FIELD_KIND_TABLE;
  properties[0].value.value.table.num_entries = 5;
  properties[0].value.value.table.entries = capabilities;
  properties[1].key = amqp_cstring_bytes("connection_name");
  properties[1].value.kind = AMQP_FIELD_KIND_UTF8;
  properties[1].value.value.bytes = amqp_cstring_bytes(name);
  properties[2].key = amqp_cstring_bytes("product");
  properties[2].value.kind = AMQP_FIELD_KIND_UTF8;
  properties[2].value.value.bytes = amqp_cstring_bytes("countersign");
  amqp_table_t table = {3, properties};
  return amqp_login_with_properties(state, vhost, 0, AMQP_DEFAULT_FRAME_SIZE, heartbeat, &table,
                                    AMQP_SASL_METHOD_PLAIN, user, password);
}
