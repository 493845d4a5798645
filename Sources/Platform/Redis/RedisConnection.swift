public import EventLoop
import Formats
import Transport

/// One connection to Redis.
///
/// hiredis decodes the replies. Commands are pipelined: the connection collects them, and sends them at the end of the
/// loop's turn. A timer ends a connection whose oldest reply is overdue.
@LoopActor
public final class RedisConnection {
  /// The endpoint of this connection.
  public let endpoint: RedisEndpoint
  /// The reason why the connection ended; `nil` while it is open.
  public private(set) var failure: RedisError?
  /// The connection calls this with each reply that says why Redis takes no writes.
  var onRefusal: (@LoopActor (RedisError) -> Void)?

  private let socket: StreamSocket
  private let replies: ReplyReader
  /// Whether Redis has replied to anything yet.
  private var hasReplied = false
  private var deadline: LoopTimer?
  private var endWaiters: [CheckedContinuation<RedisError, Never>] = []
  /// The commands that wait for a reply. Replies come in order, and `head` is the oldest command.
  private var pending: [Pending] = []
  private var head = 0
  private var outgoing = CommandBuffer()
  /// The bytes of the commands that wait for the end of the turn.
  private(set) var collected = 0
  private lazy var flushLater = EndOfTurn { [weak self] in self?.flush() }

  private struct Pending {
    let operation: String
    let since: ContinuousClock.Instant
    let waiter: CheckedContinuation<RESPValue, any Error>
  }

  /// Connects to the address of an endpoint. See ``open(_:)``.
  static func openDirectly(_ endpoint: RedisEndpoint) async throws -> RedisConnection {
    let addresses: [String]
    do {
      addresses = try await EventLoop.resolve(endpoint.address.host)
    } catch {
      throw RedisError(.unreachable, operation: "connect", target: endpoint.description, cause: "\(error)")
    }
    var last: any Error = RedisError(
      .unreachable, operation: "connect", target: endpoint.description, cause: "the name has no address")
    for address in addresses {
      do {
        let socket = try await StreamSocket.open(
          to: endpoint.address.host, at: [address], port: endpoint.address.port, tls: endpoint.tls,
          within: endpoint.timeout)
        let connection = try RedisConnection(takingOwnershipOf: socket, endpoint)
        try await connection.logIn()
        return connection
      } catch let error as StreamError {
        last = RedisError(
          .unreachable, operation: error.operation, target: endpoint.description, cause: error.cause)
      } catch {
        last = error
      }
    }
    throw last
  }

  private init(takingOwnershipOf socket: StreamSocket, _ endpoint: RedisEndpoint) throws {
    self.endpoint = endpoint
    self.socket = socket
    guard let replies = ReplyReader() else {
      socket.close()
      throw RedisError(.unreachable, operation: "connect", target: endpoint.description, cause: "out of memory")
    }
    self.replies = replies
    socket.start(
      onReceive: { [weak self] in self?.receive($0) }, onRoom: { [weak self] in self?.flush() },
      onEnd: { [weak self] in self?.lost($0.operation, $0.cause) })
    let timer = LoopTimer { [weak self] in self?.checkDeadline() }
    timer.start(after: .milliseconds(250), every: .milliseconds(250))
    deadline = timer
  }

  private func logIn() async throws {
    do {
      if let password = endpoint.password {
        _ = try await send(["AUTH"] + (endpoint.user.map { [$0] } ?? []) + [password])
      }
      try await checkMode()
      if endpoint.database != 0 { _ = try await send(["SELECT", String(endpoint.database)]) }
      // A Redis at its limit of clients accepts the connection, reports the limit and hangs up.
      _ = try await send(["PING"])
    } catch let error as RedisError where error.refusal == .misconfigured {
      // A Redis that cannot write to its disk gives this answer to PING too. It still answers reads.
    } catch {
      close()
      throw (error as? RedisError)?.namingClusterMode ?? error
    }
  }

  /// Refuses a Redis in cluster mode (decision 0030).
  private func checkMode() async throws {
    let information: RESPValue
    do {
      information = try await send(["INFO", "cluster"])
    } catch let error as RedisError where error.cause.hasPrefix("NOPERM") {
      return  // The first command that needs another node tells.
    }
    guard information.string?.contains("cluster_enabled:1") != true else {
      throw RedisError.clusterMode(target: endpoint.description)
    }
  }

  /// Sends a command and returns its reply.
  ///
  /// - Throws: ``RedisError``. If the reply is an error, its code is `reply` and its cause is Redis's text.
  public func send(_ command: [String]) async throws -> RESPValue {
    if let failure { throw failure }
    let reply = try await withCheckedThrowingContinuation { waiter in
      pending.append(Pending(operation: command[0], since: .now, waiter: waiter))
      collected += outgoing.append(command)
      flushLater.plan()
    }
    if case .error(let cause) = reply {
      let error = RedisError(.reply, operation: command[0], target: endpoint.description, cause: cause)
      if error.refusal != nil { onRefusal?(error) }
      throw error
    }
    return reply
  }

  /// Suspends until the connection has ended and returns why.
  public func ended() async -> RedisError {
    if let failure { return failure }
    return await withCheckedContinuation { endWaiters.append($0) }
  }

  /// Closes the connection. Commands without a reply fail with code `connectionLost` and the cause.
  public func close(because cause: String = "closed by us") { end(.connectionLost, "close", cause) }

  // MARK: Bytes

  /// Sends as much as the socket takes. The rest follows when the socket has room.
  private func flush() {
    collected = 0
    outgoing.send(socket.send)
  }

  private func receive(_ bytes: UnsafeRawBufferPointer) {
    do {
      try replies.feed(bytes)
      while failure == nil, let reply = try replies.next() { receive(reply) }
    } catch {
      lost("receive", error.cause)
    }
  }

  private func lost(_ operation: String, _ cause: String) {
    end(.connectionLost, operation, hasReplied ? cause : endpoint.explained(cause))
  }

  private func receive(_ reply: RESPValue) {
    hasReplied = true
    guard head < pending.count else {
      // A Redis that hangs up may say why without having been asked.
      if case .error(let cause) = reply { return end(.connectionLost, "receive", cause) }
      return end(.connectionLost, "receive", "a reply without a command")
    }
    let entry = pending[head]
    head += 1
    if head == pending.count {
      pending.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 4096 {
      pending.removeFirst(head)
      head = 0
    }
    entry.waiter.resume(returning: reply)
  }

  private func checkDeadline() {
    guard head < pending.count, ContinuousClock.now - pending[head].since > endpoint.timeout else { return }
    end(.timeout, pending[head].operation, "no reply in \(endpoint.timeout)")
  }

  private func end(_ code: RedisError.Code, _ operation: String, _ cause: String) {
    guard failure == nil else { return }
    let failure = RedisError(code, operation: operation, target: endpoint.description, cause: cause)
    self.failure = failure
    deadline?.close()
    deadline = nil
    socket.close()
    let waiting = pending[head...]
    pending.removeAll()
    head = 0
    for entry in waiting { entry.waiter.resume(throwing: failure) }
    for waiter in endWaiters { waiter.resume(returning: failure) }
    endWaiters.removeAll()
  }
}
