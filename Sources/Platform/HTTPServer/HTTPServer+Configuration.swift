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
    /// Decides on a request with a large body by its head alone, before the server keeps the body.
    public var admitHead: @LoopActor @Sendable (HTTPServerRequest) -> HeadAdmission = { _ in .admitted(nil) }
    /// The most bytes of memory for all large bodies of a room. The server answers 503 to one that needs more, or takes
    /// the room of a body that still arrives from whoever holds most. While one array grows, its copy comes on top.
    public var maxLargeBodyMemory: [LargeBody.Room: Int] = [.callers: 256 << 20, .anybody: 64 << 20]
    /// How much of each room one publisher and one address can have; of the room for unread answers only an address.
    public var largeBodyShares: LargeBody.Shares
    /// The most bytes of all large answers that their clients have not read to the end. The server answers 503 in place
    /// of one that needs more, or cuts an answer of whoever holds most. Answers of up to 16 KiB always go out.
    public var maxUnreadAnswerMemory = 256 << 20
    /// Memory for the request line and the header fields of one connection.
    ///
    /// The server answers 413, 414 or 431 if they need more. libmicrohttpd clears all of it for each request.
    public var maxHeaderBytes = 16 << 10
    /// Connections at a time. A further one takes the place of one of the network that holds most, or of a head that
    /// does not come, of a silent connection, or of a slow body. If there is none, it waits in the listener's backlog.
    /// While a network holds more than a few, the last 64th is for networks that hold none.
    public var maxConnections = 4096
    /// Connections of one client address at a time, and requests in flight of a client that a listed proxy names. All
    /// addresses of an IPv6 network (64 bits) are one client. The 48 bits around it can have twice as many.
    public var maxConnectionsPerAddress: Int
    /// The server closes a connection that sends nothing for this time.
    public var idleTimeout: Duration = .seconds(30)
    /// Time for a whole head, and time before ``minBodyRate`` counts.
    public var headTimeout: Duration = .seconds(10)
    /// Time for a whole body.
    public var bodyTimeout: Duration = .seconds(60)
    /// The fewest bytes a second of a body, and of an answer that its client reads.
    public var minBodyRate = 1024
    /// How long a connection is safe after it has come, and after each whole request, before it has to give way to
    /// networks that do not hold much less.
    public var placeGrace: Duration = .seconds(1)
    /// Whether a numeric address is a listed proxy's. It brings many clients, so ``maxConnectionsPerAddress`` does not
    /// count its connections, but the requests of the clients that it names.
    public var isProxy: @LoopActor @Sendable (String) -> Bool = { _ in false }
    /// The client behind a listed proxy, by the header fields; `nil` if it is not known.
    public var clientBehindProxy:
      @LoopActor @Sendable (_ proxy: String, _ headers: [(name: String, value: String)]) -> String? = { _, _ in nil }
    /// Learns of each connection that the server has cut or not let in.
    public var onCut: @LoopActor @Sendable (CutCause) -> Void = { _ in }
    /// Learns of each body that the server has not taken, or not sent.
    public var onBodyRefused: @LoopActor @Sendable (BodyRefusalCause) -> Void = { _ in }

    /// Creates a configuration with the defaults above. What one client can take of the others has none.
    public init(maxConnectionsPerAddress: Int, largeBodyShares: LargeBody.Shares) {
      (self.maxConnectionsPerAddress, self.largeBodyShares) = (maxConnectionsPerAddress, largeBodyShares)
    }
  }

  /// What a path says about its bodies.
  public struct LargeBody: Sendable {
    /// Bodies that share their memory. Those that anybody can send must not leave the others without room.
    public enum Room: String, CaseIterable, Sendable {
      /// Who sends one has a credential.
      case callers
      case anybody
    }

    /// Who can have a credential.
    public enum Credential: CaseIterable, Sendable {
      /// Whoever has the app, or is its customer.
      case app
      /// Nobody but the publisher.
      case backend
    }

    /// Whose credential a request has.
    public struct Sender: Hashable, Sendable {
      /// The publisher's name.
      public let publisher: String
      public let credential: Credential

      /// Creates a sender.
      public init(publisher: String, credential: Credential) {
        (self.publisher, self.credential) = (publisher, credential)
      }
    }

    /// The greatest part of a room that one can have, from 0 to 1.
    public struct Shares: Sendable {
      /// Of one publisher. Its apps can have three quarters of it, and its backends the rest.
      public var ofPublisher: Double
      /// Of one client address. The 48 bits around an IPv6 address can have twice as much.
      public var ofAddress: Double

      /// Creates shares.
      public init(ofPublisher: Double, ofAddress: Double) {
        (self.ofPublisher, self.ofAddress) = (ofPublisher, ofAddress)
      }
    }

    let maxBytes: Int
    let room: Room

    /// Allows bodies up to a number of bytes.
    public init(maxBytes: Int, in room: Room) { (self.maxBytes, self.room) = (maxBytes, room) }
  }

  /// What a head alone decides about a request with a large body.
  public enum HeadAdmission: Sendable {
    /// The answer goes out behind the body, which nobody keeps.
    case refused(HTTPServerResponse)
    /// The sender is `nil` where anybody may send, and then only the address counts.
    case admitted(LargeBody.Sender?)
  }

  /// Why the server cut a connection, or did not let it in.
  public enum CutCause: String, CaseIterable, Sendable {
    /// The head did not arrive in its time.
    case slowHead = "slow_head"
    /// The body did not arrive in its time, or came more slowly than the least pace.
    case slowBody = "slow_body"
    /// The client did not read its answer.
    case slowReader = "slow_reader"
    /// Its bytes lead nowhere, such as a chunk size line without end.
    case stalled
    /// All places were taken, and this one was needed most by another.
    case places
    /// Its address, or its network, has all the places that it can have.
    case addressShare = "address_share"
    /// Its body had to make room for another sender's.
    case room
    /// Its client had not read its answer, which had to make room for another client's.
    case answerRoom = "answer_room"
  }

  /// Why the server did not take a body, or did not send an answer's.
  public enum BodyRefusalCause: String, CaseIterable, Sendable {
    case tooLong = "too_long"
    /// The room is used up, and this sender holds most of it.
    case room
    /// The publisher, or its apps, have all the room that they can have, and this sender holds most of it.
    case publisherShare = "publisher_share"
    /// The address, or its network, has all the room that it can have, and this sender holds most of it.
    case addressShare = "address_share"
    /// The bodies' end is not clear, or their coding is not known.
    case framing
    /// It is an answer's, and this client holds most of the room, or all of its share, with answers that it has not
    /// read.
    case unread
  }
}
