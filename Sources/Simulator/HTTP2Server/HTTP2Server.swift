public import Crypto
public import EventLoop
import HTTP2

/// An HTTP/2 server over TLS on the process's loop, for the simulator and for tests.
@LoopActor
public final class HTTP2Server {
  /// Answers one request; cancelled when the client takes the request back.
  public typealias Handler = @LoopActor (HTTP2Request) async -> HTTP2Response

  /// Address, trust and limits of one server.
  public struct Configuration: Sendable {
    /// A numeric address or a name that resolves to an address of this machine.
    public var host: String
    /// The port; 0 lets the system choose, see ``HTTP2Server/boundPort``.
    public var port: Int
    /// Certificate and key.
    public var tls: TLSServerContext
    /// The server answers a longer request body with 413.
    public var maxRequestBytes = 1 << 20
    /// The most requests at a time on one connection.
    public var maxConcurrentStreams = 1000
    /// The server closes a connection without traffic and without a running request after this time, or half as much
    /// again.
    public var idleTimeout: Duration = .seconds(60)

    /// Creates a configuration with the defaults above.
    public init(host: String = "127.0.0.1", port: Int = 0, tls: TLSServerContext) {
      self.host = host
      self.port = port
      self.tls = tls
    }
  }

  private let configuration: Configuration
  private let handler: Handler
  private let scratch = Scratch()
  private var listener: Listener?
  private var sweeper: LoopTimer?
  private var connections: [ObjectIdentifier: HTTP2Connection] = [:]
  /// How many connections have been accepted.
  private var accepted = 0

  /// Creates a server that does not listen yet.
  public init(_ configuration: Configuration, handler: @escaping Handler) {
    self.configuration = configuration
    self.handler = handler
  }

  /// The port that the server listens on; 0 when it does not listen.
  public var boundPort: Int { listener?.port ?? 0 }

  /// How many connections are open.
  public var connectionCount: Int { connections.count }

  /// Binds the address and accepts connections from now on; traps when called twice.
  ///
  /// - Throws: `ResolutionError` or `ListenError` when the address cannot be bound.
  public func start() async throws {
    precondition(listener == nil, "The server listens already.")
    let addresses = try await EventLoop.resolve(configuration.host)
    // A strong reference: a listening server lives until it is closed, or nobody would accept its connections.
    listener = try Listener(host: addresses.first ?? configuration.host, port: configuration.port) { descriptor in
      self.accepted += 1
      let connection = try HTTP2Connection(
        takingOwnershipOf: descriptor, number: self.accepted, configuration: self.configuration, scratch: self.scratch,
        handler: self.handler
      ) { [weak self] in self?.connections[ObjectIdentifier($0)] = nil }
      self.connections[ObjectIdentifier(connection)] = connection
    }
    let sweeper = LoopTimer { [weak self] in self?.sweep() }
    sweeper.start(after: configuration.idleTimeout / 2, every: configuration.idleTimeout / 2)
    self.sweeper = sweeper
  }

  /// Stops listening, ends every connection, cancels the handlers and frees all memory.
  public func close() {
    listener?.close()
    sweeper?.close()
    (listener, sweeper) = (nil, nil)
    for connection in connections.values { connection.end() }
    connections = [:]
  }

  private func sweep() {
    for connection in connections.values { connection.sweep() }
  }
}
