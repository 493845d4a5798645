public import Domain
import Formats
import FoundationEssentials
public import HTTP
import HTTPClient

extension RunningFleet {
  /// Sends any request, over a kept-alive connection or over a new one.
  public func send(
    _ method: String, _ url: String, _ headers: [(name: String, value: String)] = [], _ body: String? = nil,
    timeout: Duration = .seconds(60), freshly: Bool = false, atMost bytes: Int? = nil
  ) async throws -> HTTPClientResponse {
    var request = HTTPClientRequest(method, url, headers: headers, body: body.map { Array($0.utf8) }, timeout: timeout)
    if let bytes { request.maxResponseBytes = bytes }
    return try await (freshly ? freshClient : client).send(request)
  }

  func get(_ url: String) async throws -> HTTPClientResponse { try await send("GET", url) }

  /// The headers of a caller: a publisher's token and a JSON body.
  public func headers(_ publisher: PublisherId) -> [(name: String, value: String)] {
    [("X-Publisher-Token", Self.token(of: publisher)), ("Content-Type", "application/json")]
  }

  /// The URL of a path at a gateway.
  public func url(_ path: String, gateway: String = "gateway-1") -> String {
    let address = network?.port(FleetNetwork.Link("client", gateway)).map { "127.0.0.1:\($0)" }
    return "http://\(address ?? roles[gateway]!.address)\(path)"
  }

  /// Puts a customer of the first publisher.
  public func putCustomer(_ id: Int64) async throws -> HTTPClientResponse { try await putCustomer(String(id)) }

  /// Puts a customer of the first publisher, whose id is any text.
  public func putCustomer(_ id: String, _ body: String = "{}") async throws -> HTTPClientResponse {
    try await send("PUT", url("/customers/\(PercentCoding.encoded(id))"), headers(Self.publisher), body)
  }

  /// Registers a purchase.
  public func register(
    _ transaction: String, customer: Int64 = 7, publisher: PublisherId = RunningFleet.publisher, id: String? = nil,
    priority: String? = nil, gateway: String = "gateway-1"
  ) async throws -> HTTPClientResponse {
    try await send(
      "POST", url("/storekit2/purchases", gateway: gateway),
      headers(publisher) + (id.map { [("Correlation-Id", $0)] } ?? []) + (priority.map { [("Priority", $0)] } ?? []),
      "{\"cleengCustomerId\":\(customer),\"transactionId\":\"\(transaction)\"}")
  }

  /// The data of a status answer.
  public struct Status: Decodable, Sendable {
    public let status: String
    public let result: String?
    public let accessGranted: Bool?
    public let environment: String?
    public let offerId: String?
    public let version: Int64?
  }

  /// Reads a status; `nil` for any answer but 200.
  public func status(
    _ id: String, publisher: PublisherId = RunningFleet.publisher, gateway: String = "gateway-1"
  ) async throws -> Status? {
    try await statusAnswer(id, publisher: publisher, gateway: gateway).body
  }

  /// Reads a status: the code of the answer, and with 200 its data.
  public func statusAnswer(
    _ id: String, publisher: PublisherId = RunningFleet.publisher, gateway: String = "gateway-1"
  ) async throws -> (code: Int, body: Status?) {
    let answer = try await send(
      "GET", url("/storekit2/purchases/synchronizations/\(id)", gateway: gateway), headers(publisher))
    return (answer.status, answer.status == 200 ? try JSONDecoder().decode(Status.self, from: Data(answer.body)) : nil)
  }
}
