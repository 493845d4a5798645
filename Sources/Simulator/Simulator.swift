public import EventLoop
public import Formats
import Glibc
import HTTP2Server
public import Observability

/// A stand-in for the App Store Server API, over HTTP/2 and TLS, that signs with its own test PKI.
///
/// It serves both environments on one port: `https://host:port/production` and `https://host:port/sandbox`. The
/// transaction id chooses the answer, see ``Scenario``. It also answers `GET /livez`, `GET /metrics` and `GET
/// /simulator/calls`.
@LoopActor
public final class Simulator {
  private let server: HTTP2Server
  private let service: StoreService

  /// Reads or creates the PKI and the keys; nothing listens yet.
  ///
  /// - Throws: ``SimulatorError`` when the folder cannot be used, `CryptoError` when its files are no PKI.
  public init(_ configuration: Configuration) throws {
    let pki = try SimulatorPKI(configuration)
    service = StoreService(configuration, pki: pki, now: unixMilliseconds)
    var http = HTTP2Server.Configuration(host: configuration.host, port: configuration.port, tls: pki.tls)
    // One call may begin ten thousand lives.
    http.maxRequestBytes = 16 << 20
    server = HTTP2Server(http) { [service] in await service.answer($0) }
  }

  /// Binds the address and answers from now on; traps when called twice.
  public func start() async throws {
    try await server.start()
  }

  /// Watches the loop of this process. Its metrics come with the simulator's.
  public func watchLoop(_ log: Log) { LoopWatch(service.metrics, log).start() }

  /// The port that the simulator listens on; 0 when it does not listen.
  public var port: Int { server.boundPort }

  /// The present fault of every call.
  public var weather: Weather {
    get { service.weather }
    set { service.weather = newValue }
  }

  /// The faults of the calls of single apps, by bundle id, in addition to the ``weather``.
  public var appWeather: [ExactText: Weather] {
    get { service.appWeather }
    set { service.appWeather = newValue }
  }

  /// The faults of the calls for single transactions, in addition to the ``weather``.
  public var localWeather: [String: [Weather]] {
    get { service.localWeather }
    set { service.localWeather = newValue }
  }

  /// Receives every call when the simulator decides it.
  public var onCall: @LoopActor (Call) -> Void {
    get { service.onCall }
    set { service.onCall = newValue }
  }

  /// The signed transaction that an app would hold.
  ///
  /// - Throws: when it cannot be signed.
  public func signedTransaction(_ id: String) throws -> String { try service.minted([id], isReceipt: false) }

  /// The receipt, in base64, of an app with these purchases.
  ///
  /// - Throws: when it cannot be signed.
  public func receipt(_ transactionIds: [String]) throws -> String {
    try service.minted(transactionIds, isReceipt: true)
  }

  /// Makes a control call without HTTP: the same method, path and body as over it.
  public func control(_ method: String, _ path: String, _ body: String = "") async -> (status: Int, body: [UInt8]) {
    let answer = await service.answer(HTTP2Request(method: method, path: path, body: Array(body.utf8)))
    return (answer.status, answer.body)
  }

  /// Stops listening and ends every connection.
  public func close() async {
    service.close()
    server.close()
  }
}
