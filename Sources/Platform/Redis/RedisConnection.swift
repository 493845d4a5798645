import CHiredis
public import EventLoop

/// One connection to Redis over hiredis's asynchronous interface.
///
/// Commands are pipelined: hiredis collects them in one buffer, and the connection writes it at the end of the loop's
/// turn. hiredis 0.14 has no timers, so a timer of the loop ends a connection whose oldest reply is overdue.
@LoopActor
public final class RedisConnection {
  /// The endpoint of this connection.
  public let endpoint: RedisEndpoint
  /// The reason why the connection ended; `nil` while it is open.
  public private(set) var failure: RedisError?
  /// The connection calls this with each reply that says why Redis takes no writes.
  var onRefusal: (@LoopActor (RedisError) -> Void)?

  private var context: UnsafeMutablePointer<redisAsyncContext>?
  private var watcher: DescriptorWatcher?
  private var readiness: Readiness = []
  private var deadline: LoopTimer?
  private var connectWaiter: CheckedContinuation<Void, any Error>?
  private var endWaiters: [CheckedContinuation<RedisError, Never>] = []
  /// The commands that wait for a reply. Replies come in order, and `head` is the oldest command.
  private var pending: [Pending] = []
  private var head = 0
  /// The command that is being sent. The connection keeps it for its memory.
  private var outgoing = CommandBuffer()
  /// The bytes of the commands that wait for the end of the turn.
  private(set) var collected = 0
  private lazy var flushLater = EndOfTurn { [weak self] in self?.flush() }
  /// Whether hiredis asks for a write in the middle of a write, because the socket has taken only a part.
  private var isFlushing = false

  private struct Pending {
    let operation: String
    let since: ContinuousClock.Instant
    let waiter: CheckedContinuation<RESPValue, any Error>
  }

  /// Connects, authenticates and selects the database.
  ///
  /// - Throws: ``RedisError`` with code `unreachable`, or `reply` when Redis refuses the credentials.
  public static func open(_ endpoint: RedisEndpoint) async throws -> RedisConnection {
    let addresses: [String]
    do {
      addresses = try await EventLoop.resolve(endpoint.host)
    } catch {
      throw RedisError(.unreachable, operation: "connect", target: endpoint.description, cause: "\(error)")
    }
    var last: any Error = RedisError(
      .unreachable, operation: "connect", target: endpoint.description, cause: "the name has no address")
    for address in addresses {
      do {
        let connection = RedisConnection(endpoint)
        try await connection.connect(to: address)
        try await connection.logIn()
        return connection
      } catch {
        last = error
      }
    }
    throw last
  }

  private init(_ endpoint: RedisEndpoint) { self.endpoint = endpoint }

  private func connect(to address: String) async throws {
    guard let context = redisAsyncConnect(address, Int32(endpoint.port)) else {
      throw RedisError(.unreachable, operation: "connect", target: endpoint.description, cause: "out of memory")
    }
    self.context = context
    guard context.pointee.err == 0 else {
      let cause = String(cString: context.pointee.errstr)
      self.context = nil
      redisAsyncFree(context)
      throw RedisError(.unreachable, operation: "connect", target: endpoint.description, cause: cause)
    }
    // hiredis gets a reference and calls until its cleanup callback, which releases it.
    let own = Unmanaged.passRetained(self).toOpaque()
    context.pointee.data = own
    context.pointee.ev.data = own
    context.pointee.ev.addRead = onAddRead
    context.pointee.ev.delRead = onDeleteRead
    context.pointee.ev.addWrite = onAddWrite
    context.pointee.ev.delWrite = onDeleteWrite
    context.pointee.ev.cleanup = onCleanup
    redisAsyncSetConnectCallback(context, onConnect)
    redisAsyncSetDisconnectCallback(context, onDisconnect)
    do {
      watcher = try DescriptorWatcher(descriptor: context.pointee.c.fd) { [weak self] in self?.ready($0) }
    } catch {
      end(.unreachable, "connect", "\(error)")
      throw failure ?? error
    }

    let limit = LoopTimer { [weak self] in self?.end(.unreachable, "connect", "no connection in time") }
    limit.start(after: endpoint.timeout)
    defer { limit.close() }
    try await withCheckedThrowingContinuation { waiter in
      connectWaiter = waiter
      // The socket becomes writable when TCP is up or has failed.
      watch(readiness.union(.writable))
    }
    // The connection may have ended again before this code hears that it has begun.
    if let failure { throw failure }
    let timer = LoopTimer { [weak self] in self?.checkDeadline() }
    timer.start(after: .milliseconds(250), every: .milliseconds(250))
    deadline = timer
  }

  private func logIn() async throws {
    do {
      if let password = endpoint.password {
        _ = try await send(["AUTH"] + (endpoint.user.map { [$0] } ?? []) + [password])
      }
      if endpoint.database != 0 { _ = try await send(["SELECT", String(endpoint.database)]) }
      // A Redis at its limit of clients accepts the connection, reports the limit and hangs up.
      _ = try await send(["PING"])
    } catch let error as RedisError where error.refusal == .misconfigured {
      // A Redis that cannot write to its disk gives this answer to PING too. It still answers reads.
    } catch {
      close()
      throw error
    }
  }

  /// Sends a command and returns its reply.
  ///
  /// - Throws: ``RedisError``. If the reply is an error, its code is `reply` and its cause is Redis's text.
  public func send(_ command: [String]) async throws -> RESPValue {
    guard let context, failure == nil else {
      throw failure
        ?? RedisError(
          .unreachable, operation: command[0], target: endpoint.description, cause: "not connected")
    }
    let reply = try await withCheckedThrowingContinuation { waiter in
      pending.append(Pending(operation: command[0], since: .now, waiter: waiter))
      outgoing.write(command)  // hiredis copies it
      collected += outgoing.count
      let status = outgoing.withUnsafeBytes {
        redisAsyncFormattedCommand(context, onReply, nil, $0.bindMemory(to: CChar.self).baseAddress, $0.count)
      }
      if status != REDIS_OK { end(.connectionLost, command[0], "the connection is closing") }
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

  // MARK: hiredis calls

  fileprivate func watch(_ readiness: Readiness) {
    self.readiness = readiness
    watcher?.watch(readiness)
  }

  fileprivate var watched: Readiness { readiness }

  private func ready(_ ready: Readiness) {
    if ready.contains(.readable), let context { redisAsyncHandleRead(context) }
    // The read may have ended the connection.
    if ready.contains(.writable), let context { redisAsyncHandleWrite(context) }
  }

  /// Plans to write, at the end of the turn, the commands that hiredis collects in this turn.
  ///
  /// A socket nearly always has room. To wait until the loop says so would cost two system calls and another turn.
  fileprivate func planFlush() {
    if isFlushing { return watch(readiness.union(.writable)) }
    flushLater.plan()
  }

  private func flush() {
    collected = 0
    // If the watcher waits for room in the socket, it does the write. This is so while the connection opens: hiredis
    // 0.14 takes every socket without an error for a connected one.
    guard let context, !readiness.contains(.writable) else { return }
    isFlushing = true
    redisAsyncHandleWrite(context)
    isFlushing = false
  }

  fileprivate func connected(_ status: Int32, _ cause: String) {
    guard status == REDIS_OK else {
      context = nil  // hiredis frees it after this callback
      return end(.unreachable, "connect", cause)
    }
    connectWaiter?.resume()
    connectWaiter = nil
  }

  fileprivate func disconnected(_ cause: String) {
    context = nil  // hiredis frees it after this callback
    end(.connectionLost, "receive", cause)
  }

  fileprivate func received(_ reply: UnsafePointer<redisReply>?) {
    // A missing reply means that hiredis is shutting down. `end` names the cause.
    guard let reply, head < pending.count else { return }
    let entry = pending[head]
    head += 1
    if head == pending.count {
      pending.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 4096 {
      pending.removeFirst(head)
      head = 0
    }
    entry.waiter.resume(returning: RESPValue(copying: reply))
  }

  fileprivate func cleanedUp() {
    watcher?.close()
    watcher = nil
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
    if let context {
      self.context = nil
      redisAsyncFree(context)
    }
    connectWaiter?.resume(throwing: failure)
    connectWaiter = nil
    let waiting = pending[head...]
    pending.removeAll()
    head = 0
    for entry in waiting { entry.waiter.resume(throwing: failure) }
    for waiter in endWaiters { waiter.resume(returning: failure) }
    endWaiters.removeAll()
  }
}

// The callbacks run on the loop, inside a call of the loop or the connection to hiredis. Before hiredis reports the
// disconnection, it cleans up and so releases its reference. The object still lives then, since the caller (the
// watcher's handler, or a method of the connection) holds it.

private func connection(_ data: UnsafeMutableRawPointer?) -> RedisConnection {
  Unmanaged<RedisConnection>.fromOpaque(data!).takeUnretainedValue()
}

private func onAddRead(_ data: UnsafeMutableRawPointer?) {
  LoopActor.assumeIsolated(with: connection(data)) { $0.watch($0.watched.union(.readable)) }
}

private func onDeleteRead(_ data: UnsafeMutableRawPointer?) {
  LoopActor.assumeIsolated(with: connection(data)) { $0.watch($0.watched.subtracting(.readable)) }
}

private func onAddWrite(_ data: UnsafeMutableRawPointer?) {
  LoopActor.assumeIsolated(with: connection(data)) { $0.planFlush() }
}

private func onDeleteWrite(_ data: UnsafeMutableRawPointer?) {
  LoopActor.assumeIsolated(with: connection(data)) { $0.watch($0.watched.subtracting(.writable)) }
}

private func onCleanup(_ data: UnsafeMutableRawPointer?) {
  let connection = Unmanaged<RedisConnection>.fromOpaque(data!).takeRetainedValue()
  LoopActor.assumeIsolated { connection.cleanedUp() }
}

private func onConnect(_ context: UnsafePointer<redisAsyncContext>?, _ status: Int32) {
  let connection = connection(context!.pointee.data)
  let cause = status == REDIS_OK ? "" : String(cString: context!.pointee.errstr)
  LoopActor.assumeIsolated { connection.connected(status, cause) }
}

private func onDisconnect(_ context: UnsafePointer<redisAsyncContext>?, _ status: Int32) {
  let connection = connection(context!.pointee.data)
  let cause = status == REDIS_OK ? "disconnected" : String(cString: context!.pointee.errstr)
  LoopActor.assumeIsolated { connection.disconnected(cause) }
}

private func onReply(
  _ context: UnsafeMutablePointer<redisAsyncContext>?, _ reply: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?
) {
  let reply = reply.map { UnsafePointer($0.assumingMemoryBound(to: redisReply.self)) }
  LoopActor.assumeIsolated(with: (connection(context!.pointee.data), reply)) { $0.received($1) }
}
