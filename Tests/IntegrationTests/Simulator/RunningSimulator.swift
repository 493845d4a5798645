import Crypto
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Glibc
import HTTP
import HTTPClient
import Simulator

/// A simulator on a free port, with a client that trusts it and the keys of its apps.
@LoopActor
final class RunningSimulator {
  nonisolated static let app = Simulator.App(
    bundleId: "com.example.video", appAppleId: 1_234_567_890, issuerId: "57246542-96fe-1a63-e053-0824d011072a",
    keyId: "2X9R4HXF34")
  nonisolated static let otherApp = Simulator.App(
    bundleId: "com.example.music", appAppleId: 1_234_567_891, issuerId: "57246542-96fe-1a63-e053-0824d011072b",
    keyId: "7HGF4RXX92")

  let folder: String
  let client: HTTPClient
  let key: P256PrivateKey
  let simulator: Simulator

  private init(folder: String, month: Duration) async throws {
    self.folder = folder
    var settings = Simulator.Configuration(folder: folder, apps: [Self.app, Self.otherApp])
    settings.lifeMonth = month
    simulator = try Simulator(settings)
    try await simulator.start()
    var configuration = HTTPClientConfiguration.patient
    configuration.caFile = "\(folder)/tls-ca.pem"
    client = HTTPClient(configuration)
    key = try P256PrivateKey(pem: String(decoding: bytes("\(folder)/AuthKey_\(Self.app.keyId).p8"), as: UTF8.self))
  }

  private func close() async {
    client.close()
    await simulator.close()
  }

  /// Runs a test with a simulator in a folder of its own, or in the given one.
  static func with(
    folder: String? = nil, month: Duration = .seconds(60),
    _ body: @LoopActor (RunningSimulator) async throws -> Void
  ) async throws {
    let own = try folder ?? temporaryFolder()
    let running = try await RunningSimulator(folder: own, month: month)
    do {
      try await body(running)
    } catch {
      await running.close()
      throw error
    }
    await running.close()
    if folder == nil { try FileManager.default.removeItem(atPath: own) }
  }

  nonisolated static func temporaryFolder() throws -> String {
    var template = Array("/tmp/countersign-simulator-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CryptoError(operation: "make a folder", cause: "mkdtemp") }
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  func url(_ path: String) -> String { "https://localhost:\(simulator.port)\(path)" }

  /// Calls the API as a worker does.
  func call(
    _ endpoint: String, in environment: String = "production", token: String? = nil
  ) async throws -> HTTPClientResponse {
    let token = try token ?? Token().signed(with: key)
    return try await client.send(
      HTTPClientRequest(
        "GET", url("/\(environment)/inApps/\(endpoint)"),
        headers: [("accept", "application/json"), ("authorization", "Bearer \(token)")],
        timeout: .seconds(120), maxResponseBytes: 16 << 20))
  }

  func transaction(_ id: String, in environment: String = "production") async throws -> HTTPClientResponse {
    try await call("v1/transactions/\(id)", in: environment)
  }
}

/// The parts of a bearer token, good unless changed.
struct Token {
  var header = "{\"alg\":\"ES256\",\"kid\":\"\(RunningSimulator.app.keyId)\",\"typ\":\"JWT\"}"
  var issuer = RunningSimulator.app.issuerId
  var audience = "appstoreconnect-v1"
  var bundleId = RunningSimulator.app.bundleId
  var issuedAt = Int64(time(nil))
  var lifetime: Int64 = 300

  func signed(with key: P256PrivateKey) throws -> String {
    let claims = """
      {"iss":"\(issuer)","iat":\(issuedAt),"exp":\(issuedAt + lifetime),"aud":"\(audience)","bid":"\(bundleId)"}
      """
    let message = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))"
    return "\(message).\(Base64URL.encode(try key.signature(for: Array(message.utf8))))"
  }
}

/// Returns the bytes of a file.
func bytes(_ path: String) throws -> [UInt8] {
  try Array(Data(contentsOf: URL(filePath: path)))
}

extension HTTPClientResponse {
  /// Decodes the body as JSON.
  func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(body))
  }
}

/// The bodies of the API, as far as tests read them.
struct TransactionBody: Decodable {
  var signedTransactionInfo: String
}

struct SubscriptionsBody: Decodable {
  struct Group: Decodable {
    var subscriptionGroupIdentifier: String
    var lastTransactions: [Last]
  }

  struct Last: Decodable {
    var originalTransactionId: String
    var status: Int
    var signedTransactionInfo: String
    var signedRenewalInfo: String
  }

  var environment: String
  var bundleId: String
  var appAppleId: Int64
  var data: [Group]
}

struct HistoryBody: Decodable {
  var hasMore: Bool
  var signedTransactions: [String]
}

struct FailureBody: Decodable, Equatable {
  var errorCode: Int
  var errorMessage: String
}

struct CallsBody: Decodable {
  struct Count: Decodable, Equatable {
    var environment: String
    var endpoint: String
    var status: Int
    var count: Int
  }

  struct Call: Decodable {
    var time: Int64
    var environment: String
    var endpoint: String
    var transactionId: String
    var status: Int
    var refusal: String?
  }

  var counts: [Count]
  var calls: [Call]
}
