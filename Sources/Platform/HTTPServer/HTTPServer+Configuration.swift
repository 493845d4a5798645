import EventLoop

extension HTTPServer {
  /// The address and the limits of one server.
  public struct Configuration: Sendable {
    /// A numeric address.
    public var host = "127.0.0.1"
    /// A port; 0 takes any free one.
    public var port = 0
    /// The most bytes of a body. The server answers 413 to a longer one.
    public var maxBodyBytes = 64 << 10
    /// How large the body of a raw path may be; `nil` for ``maxBodyBytes``. Only a POST may have a large one: the other
    /// methods have nothing to send there.
    public var largeBody: @LoopActor @Sendable (Substring) -> LargeBody? = { _ in nil }
    /// Refuses a request with a large body by its head alone, before the server keeps the body; `nil` admits it.
    public var refuseHead: @LoopActor @Sendable (HTTPServerRequest) -> HTTPServerResponse? = { _ in nil }
    /// The most bytes of all large bodies of a room in memory. The server answers 503 to one that needs more.
    public var maxLargeBodyMemory: [LargeBody.Room: Int] = [.callers: 256 << 20, .anybody: 64 << 20]
    /// Memory for the request line and the header fields of one connection.
    ///
    /// The server answers 413, 414 or 431 if they need more. libmicrohttpd clears all of it for each request.
    public var maxHeaderBytes = 16 << 10
    /// Connections at a time. Further ones wait in the listener's backlog.
    public var maxConnections = 4096
    /// The server closes a connection that sends nothing for this time.
    public var idleTimeout: Duration = .seconds(30)

    /// Creates a configuration with the defaults above.
    public init() {}
  }

  /// What a path says about its bodies.
  public struct LargeBody: Sendable {
    /// Bodies that share their memory. Those that anybody can send must not leave the others without room.
    public enum Room: Sendable {
      /// Who sends one has a credential.
      case callers
      case anybody
    }

    let maxBytes: Int
    let room: Room

    /// Allows bodies up to a number of bytes.
    public init(maxBytes: Int, in room: Room) { (self.maxBytes, self.room) = (maxBytes, room) }
  }
}
