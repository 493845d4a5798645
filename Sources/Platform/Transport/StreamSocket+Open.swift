public import Crypto
import EventLoop
import Formats

extension StreamSocket {
  /// Connects to a server, and shakes hands over TLS if `tls` says so.
  ///
  /// - Parameters:
  ///   - host: a name or an address. With TLS, the server's certificate must carry it.
  ///   - addresses: see `EventLoop.resolve`; `nil` means all addresses of the host.
  ///   - tls: the files for TLS. The socket reads them anew, so a renewed file counts from the next connection on.
  ///   - limit: for TCP and TLS together.
  ///   - place: whose socket it is, for the log of slow turns.
  /// - Throws: ``StreamError``.
  public static func open(
    to host: String, at addresses: [String]? = nil, port: Int, tls: TLSClientFiles? = nil, within limit: Duration,
    at place: StaticString = #fileID
  ) async throws -> StreamSocket {
    let target = ServerAddress(host: host, port: port).description
    let end = ContinuousClock.now + limit
    func failure(_ operation: String, _ error: any Error) -> StreamError {
      let cause = (error as? ConnectError)?.cause ?? (error as? CryptoError)?.description ?? "\(error)"
      return StreamError(operation: operation, target: target, cause: cause)
    }
    let descriptor: Int32
    let session: TLSSession?
    do {
      // A long list of authorities takes some milliseconds.
      let context = if let tls { try await EventLoop.offload { try tls.context() } } else { nil as TLSClientContext? }
      session = try context.map { context in try TLSSession(connecting: context, to: host) }
    } catch {
      throw failure("prepare TLS", error)
    }
    do {
      let found = if let addresses { addresses } else { try await EventLoop.resolve(host) }
      descriptor = try await EventLoop.connect(to: host, at: found, port: port, within: end - .now)
    } catch {
      throw failure("connect", error)
    }
    let socket = try StreamSocket(takingOwnershipOf: descriptor, target: target, session, at: place)
    if session != nil { try await socket.shakeHands(within: max(.milliseconds(1), end - .now)) }
    return socket
  }
}
