public import EventLoop
import Formats

/// A Redis that comes back: a few pipelined connections. The client opens them again, with a growing delay, when one of
/// them is lost.
///
/// Each turn of the loop uses the next connection, and a long turn uses several (decision 0018). So of two commands
/// that are under way at once, either may run first.
@LoopActor
public final class RedisClient {
  /// The changes of a client's connection.
  public enum Change: Sendable {
    case connected
    /// The connection has ended, or the client could not open one.
    case lost(any Error, retryIn: Duration)
    /// Redis answers and takes no writes.
    case refusing(RedisError)
    /// Redis accepts writes again.
    case writable
  }

  private let endpoint: @LoopActor () -> RedisEndpoint
  private let onChange: @LoopActor (Change) -> Void
  /// The connections of one opening. All of them are open, or there are none.
  private var connections: [RedisConnection] = []
  private var turn = 0
  /// How many bytes of a turn go to one connection. With one more command they are the 16 KiB that Redis reads of each
  /// connection before it goes to its disk.
  private static let oneRead = 14 << 10
  private var running: Task<Void, Never>?
  private var isStopping = false
  private var lastFailure: RedisError?
  private var writes: WriteProbe!
  private var watch: SentinelWatch?
  private var digests: [String: String] = [:]
  /// The scripts that the client is loading.
  private var loads: [String: Task<String, any Error>] = [:]

  /// Creates a client of an endpoint that stays the same. Nothing happens before ``start()``.
  public convenience init(_ endpoint: RedisEndpoint, onChange: @escaping @LoopActor (Change) -> Void = { _ in }) {
    self.init({ endpoint }, onChange: onChange)
  }

  /// Creates a client. Nothing happens before ``start()``.
  ///
  /// - Parameter endpoint: the client asks for it at each opening of its connections.
  public init(
    _ endpoint: @escaping @LoopActor () -> RedisEndpoint, onChange: @escaping @LoopActor (Change) -> Void = { _ in }
  ) {
    self.endpoint = endpoint
    self.onChange = onChange
    writes = WriteProbe(
      write: { [weak self] in _ = try await self?.send(endpoint().probe) },
      onChange: { onChange($0.map(Change.refusing) ?? .writable) })
  }

  /// Whether the client can send a command now.
  public var isReady: Bool { !connections.isEmpty && connections.allSatisfy { $0.failure == nil } }

  /// Why writes are impossible now, in the words of Redis, or what was tried at which address and failed; `nil` if
  /// they are possible, as far as the client knows.
  public var trouble: String? {
    if let refusal = writes.refusal { return refusal.cause }
    guard !isReady else { return nil }
    return lastFailure.map { "\($0.operation) at \($0.target): \($0.cause)" } ?? "no connection yet"
  }

  /// Starts to connect. A second call does nothing.
  public func start() {
    guard running == nil, !isStopping else { return }
    running = Task { @LoopActor in await run() }
  }

  /// Closes the connections and opens no more. A caller may call it without a start, and twice.
  public func stop() async {
    isStopping = true
    running?.cancel()
    close(because: "closed by us")
    await running?.value
    running = nil
  }

  /// Sends a command and returns its reply. It fails at once without a connection.
  ///
  /// - Throws: ``RedisError``.
  public func send(_ command: [String]) async throws -> RESPValue {
    guard !connections.isEmpty else {
      throw RedisError(.unreachable, operation: command[0], target: endpoint().description, cause: "no connection")
    }
    // A turn's commands are one write of this process and one read of Redis, as long as they fit into one.
    if !(1..<Self.oneRead).contains(connections[turn].collected) { turn = (turn + 1) % connections.count }
    return try await connections[turn].send(command)
  }

  /// Runs a script. See ``RedisScript/call(keys:moreKeys:arguments:moreArguments:)``.
  ///
  /// - Throws: ``RedisError``, with the script's name as operation.
  public func run(
    _ script: RedisScript, keys: KeyValuePairs<String, String> = [:], moreKeys: [String] = [],
    arguments: KeyValuePairs<String, String> = [:], moreArguments: [String] = []
  ) async throws -> RESPValue {
    try await run(script.call(keys: keys, moreKeys: moreKeys, arguments: arguments, moreArguments: moreArguments))
  }

  /// Runs a script by its digest. The client sends the text only if this Redis does not know it yet.
  ///
  /// - Throws: ``RedisError``, with the script's name as operation.
  public func run(_ call: RedisScript.Call) async throws -> RESPValue {
    do {
      let digest: String
      if let known = digests[call.script.name] { digest = known } else { digest = try await load(call.script) }
      return try await send(call.command("EVALSHA", digest))
    } catch {
      return try await recover(call, from: error)
    }
  }

  /// Runs a script by its text if Redis does not know the digest. It throws any other failure with the script's name.
  private func recover(_ call: RedisScript.Call, from error: any Error) async throws -> RESPValue {
    let script = call.script
    do {
      guard let error = error as? RedisError, error.code == .reply, error.cause.hasPrefix("NOSCRIPT") else {
        throw error
      }
      // A Redis that was started again has forgotten its scripts.
      digests[script.name] = nil
      return try await send(call.command("EVAL", script.source))
    } catch let error as RedisError {
      throw RedisError(error.code, operation: "script \(script.name)", target: error.target, cause: error.cause)
    }
  }

  /// Loads a script, once for all callers that want to run it meanwhile, and returns its digest.
  private func load(_ script: RedisScript) async throws -> String {
    let load =
      loads[script.name]
      ?? Task { @LoopActor in
        defer { loads[script.name] = nil }
        guard let digest = try await send(["SCRIPT", "LOAD", script.source]).string else {
          throw RedisError(.reply, operation: "SCRIPT", target: endpoint().description, cause: "no digest came")
        }
        digests[script.name] = digest
        return digest
      }
    loads[script.name] = load
    return try await load.value
  }

  private func run() async {
    var backoff = Backoff()
    while !isStopping {
      let failure: any Error
      do {
        let refusal = try await open()
        backoff = Backoff()
        onChange(.connected)
        if let refusal { writes.refused(refusal) }
        let end = await firstEnd()
        close(because: end.cause)
        failure = end
      } catch {
        failure = error
      }
      lastFailure = failure as? RedisError
      guard !isStopping else { break }
      let delay = backoff.next()
      onChange(.lost(failure, retryIn: delay))
      try? await EventLoop.sleep(for: delay)
    }
  }

  /// Opens the connections.
  ///
  /// - Returns: why Redis takes no writes now although it answers reads; `nil` when it takes writes.
  /// - Throws: ``RedisError``, also for a replica: the address may lead to the new primary at the next try.
  private func open() async throws -> RedisError? {
    var refusal: RedisError?
    var opened: [RedisConnection] = []
    var sentinel: ServerAddress?
    var endpoint = endpoint()
    let sentinels = endpoint.sentinels
    do {
      if let sentinels {
        let (connection, named) = try await RedisConnection.openPrimary(endpoint, of: sentinels)
        opened.append(connection)
        // All connections go to one node.
        (endpoint, sentinel) = (connection.endpoint, named)
      }
      while opened.count < endpoint.connections {
        // The caller of ``stop()`` waits for this.
        try Task.checkCancellation()
        opened.append(try await RedisConnection.open(endpoint))
      }
      do {
        _ = try await opened[0].send(endpoint.probe)
      } catch let error as RedisError where error.refusal != nil && error.refusal != .readOnly {
        refusal = error
      }
      try Task.checkCancellation()
    } catch {
      for connection in opened { connection.close() }
      throw (error as? RedisError)?.namingClusterMode ?? error
    }
    for connection in opened {
      connection.onRefusal = { [weak self, weak connection] in self?.refused($0, by: connection) }
    }
    connections = opened
    if let sentinels, let sentinel {
      let watch = SentinelWatch(self.endpoint, of: sentinels) { [weak self] in
        self?.close(because: "the primary is now \($0)")
      }
      watch.start(endpoint.address, namedBy: sentinel)
      self.watch = watch
    }
    return refusal
  }

  private func refused(_ error: RedisError, by connection: RedisConnection?) {
    // The replies of an earlier, ended connection say nothing about the present ones.
    guard connections.contains(where: { $0 === connection }) else { return }
    if error.refusal == .readOnly { close(because: error.cause) } else { writes.refused(error) }
  }

  /// Waits until one of the connections has ended, and returns why.
  private func firstEnd() async -> RedisError {
    let (first, others) = (connections[0], connections.dropFirst())
    for other in others {
      Task { @LoopActor in
        let failure = await other.ended()
        first.close(because: failure.cause)
      }
    }
    let end = await first.ended()
    return others.lazy.compactMap(\.failure).first ?? end
  }

  private func close(because cause: String) {
    writes.forget()
    watch?.stop()
    watch = nil
    for connection in connections { connection.close(because: cause) }
    connections.removeAll()
  }
}
