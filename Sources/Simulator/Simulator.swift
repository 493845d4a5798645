public import EventLoop
import Glibc
import HTTP2Server

/// A stand-in for the App Store Server API, over HTTP/2 and TLS, that signs with its own test PKI.
///
/// Both environments are served on one port: `https://host:port/production` and `https://host:port/sandbox`. The
/// transaction id chooses what is answered, see ``Scenario``. Beside the API it answers `GET /livez`, `GET /metrics` and
/// `GET /simulator/calls`.
@LoopActor
public final class Simulator {
  private let server: HTTP2Server
  private let service: StoreService

  /// Reads or creates the PKI and the keys; nothing listens yet.
  ///
  /// - Throws: ``SimulatorError`` when the folder cannot be used, `CryptoError` when what is in it is no PKI.
  public init(_ configuration: Configuration) throws {
    let pki = try SimulatorPKI(configuration)
    service = StoreService(configuration, pki: pki, now: unixMilliseconds)
    server = HTTP2Server(
      HTTP2Server.Configuration(host: configuration.host, port: configuration.port, tls: pki.tls)
    ) { [service] in await service.answer($0) }
  }

  /// Binds the address and answers from now on; traps when called twice.
  public func start() async throws {
    try await server.start()
  }

  /// The port that the simulator listens on; 0 when it does not.
  public var port: Int { server.boundPort }

  /// What goes wrong with every call at present.
  public var weather: Weather {
    get { service.weather }
    set { service.weather = newValue }
  }

  /// What goes wrong with the calls for single transactions, beside the ``weather``.
  public var localWeather: [String: [Weather]] {
    get { service.localWeather }
    set { service.localWeather = newValue }
  }

  /// Told of every call when it is decided.
  public var onCall: @LoopActor (Call) -> Void {
    get { service.onCall }
    set { service.onCall = newValue }
  }

  /// Stops to listen and ends every connection.
  public func close() async {
    server.close()
  }
}
