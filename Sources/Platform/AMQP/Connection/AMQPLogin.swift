import CRabbitMQ
import Glibc

/// A librabbitmq connection after its log-in, and before anything reads from it.
struct LoggedInConnection: @unchecked Sendable {
  // Sendable is right: the value exists only between the pool thread that logged in and the loop that takes the handle
  // over. No reference stays behind on the pool thread.
  let state: OpaquePointer
}

extension AMQPEndpoint {
  /// Connects and logs in. It blocks for ``connectTimeout`` at most, so it runs on a thread of the pool.
  ///
  /// - Parameter name: the broker shows it in its list of connections.
  /// - Throws: ``AMQPError`` with code `unreachable`.
  func logIn(name: String) throws -> LoggedInConnection {
    func failure(_ operation: String, _ cause: String) -> AMQPError {
      AMQPError(.unreachable, operation: operation, target: description, cause: cause)
    }
    guard let state = amqp_new_connection() else { throw failure("connect", "out of memory") }
    guard let socket = amqp_tcp_socket_new(state) else {
      amqp_destroy_connection(state)
      throw failure("connect", "out of memory")
    }
    var timeout = timeval(tv_sec: Int(connectTimeout.components.seconds), tv_usec: 0)
    amqp_set_handshake_timeout(state, &timeout)
    amqp_set_rpc_timeout(state, &timeout)
    let status = amqp_socket_open_noblock(socket, host, Int32(port), &timeout)
    guard status == AMQP_STATUS_OK.rawValue else {
      amqp_destroy_connection(state)
      throw failure("connect", statusText(status))
    }
    let seconds = Int32(clamping: heartbeat.components.seconds)
    let reply = countersign_amqp_login(state, virtualHost, seconds, name, user, password)
    guard reply.reply_type == AMQP_RESPONSE_NORMAL else {
      let cause = AMQPEndpoint.cause(of: reply)
      amqp_destroy_connection(state)
      throw failure("log in as \(user) to \(virtualHost)", cause)
    }
    // The buffer has room for the messages of one loop turn, so a turn seldom has to wait until the socket is writable.
    var size: Int32 = 1 << 20
    setsockopt(amqp_get_sockfd(state), SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    return LoggedInConnection(state: state)
  }

  private static func cause(of reply: amqp_rpc_reply_t) -> String {
    switch reply.reply_type {
    case AMQP_RESPONSE_LIBRARY_EXCEPTION: return statusText(reply.library_error)
    case AMQP_RESPONSE_SERVER_EXCEPTION where reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD:
      let close = reply.reply.decoded.assumingMemoryBound(to: amqp_connection_close_t.self).pointee
      return "\(close.reply_code) \(String(copying: close.reply_text))"
    default: return "unexpected answer"
    }
  }
}
