import Crypto
import Domain
import Doors
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import Simulator
import TestSupport

/// The clients of the doors: each speaks its vendor's contract, beside the registrations of our own API.
extension Chaos {
  /// What every caller of a door sees, reduced to what it may rely on.
  enum DoorAnswer: Hashable {
    /// The customer has the purchase.
    case granted
    /// The work is accepted, and its result comes later: Mbaasy's 206, and Cleeng's 200.
    case accepted
    /// Another customer has the purchase.
    case refused
    /// The door promises nothing: come again.
    case later
    /// No answer came.
    case unknown
    /// An answer that no fault explains.
    case unexpected(String)
  }

  /// One call of a door.
  struct DoorVisit {
    let door: Door
    let transaction: String
    /// The customer's id.
    let customer: String
    let answer: DoorAnswer
  }

  /// Opens the doors in the file of the load's publisher.
  static let doors = """
    "customerTokens": {"algorithm": "HS256", "secretFile": "../jwt.secret"}, "doors": {\(RunningFleet.doors)},
    """

  /// Every door; each has a client here.
  nonisolated static let allDoors = DoorRegistry.catalog.all.map(\.id)

  /// Calls the doors as long as registrations come, each in its turn.
  func visitDoors() async {
    var pending: [Task<Void, Never>] = []
    var number = 0
    while goesOn {
      let index = number % Self.allDoors.count
      let door = Self.allDoors[index]
      let place = number / Self.allDoors.count % size.doorTransactions
      let transaction = Self.transaction(of: door, place)
      // One of five calls comes from another customer.
      let customer = "\(door.rawValue)-\(place)\(Int.random(in: 0..<5, using: &doorRandom) == 0 ? "-other" : "")"
      let gateway = usable.sorted().randomElement(using: &doorRandom)
      pending.append(Task { @LoopActor in await visit(door, transaction, customer, gateway) })
      number += 1
      try? await EventLoop.sleep(for: .seconds(1 / size.doorsPerSecond))
    }
    for task in pending { await task.value }
  }

  /// A purchase of a door. Each door has its own: what one refuses another one may move.
  private static func transaction(of door: Door, _ place: Int) -> String {
    "1005\(Self.allDoors.firstIndex(of: door) ?? 0)\(1_000_000 + place)"
  }

  /// Whether another customer's payment may take the purchase away.
  static func mayMove(_ transaction: String) -> Bool {
    transaction.hasPrefix(self.transaction(of: .cleeng, 0).prefix(5))
  }

  private func visit(_ door: Door, _ transaction: String, _ customer: String, _ gateway: String?) async {
    let answer = await ask(door, transaction, customer, gateway)
    history.doorVisits.append(
      DoorVisit(door: door, transaction: transaction, customer: customer, answer: answer))
  }

  private func ask(_ door: Door, _ transaction: String, _ customer: String, _ gateway: String?) async -> DoorAnswer {
    guard let gateway else { return .later }
    do {
      let receipt = try fleet.simulator.receipt([transaction])
      let (path, headers, body) = try request(door, transaction, customer, receipt)
      let response = try await fleet.send(
        "POST", fleet.url(path, gateway: gateway), headers + [("Content-Type", "application/json")], body,
        timeout: .seconds(40), freshly: true)
      return read(door, response.status, try? JSONDecoder().decode(DoorBody.self, from: Data(response.body)))
    } catch let error as HTTPClientError {
      return error.code == .unreachable ? .later : .unknown
    } catch {
      return .unexpected("\(error)")
    }
  }

  private func request(
    _ door: Door, _ transaction: String, _ customer: String, _ receipt: String
  ) throws -> (path: String, headers: [(String, String)], body: String) {
    switch door {
    case .cleeng:
      (
        "/apple/payment", [("X-Publisher-Token", RunningFleet.tokens[RunningFleet.openPublisher] ?? "")],
        """
        {"customerEmail":"\(customer)@example.com","offerId":"S1",
         "receipt":{"transactionId":"\(transaction)","receiptData":"\(receipt)"}}
        """
      )
    case .iaptic:
      (
        "/v1/validate?appName=\(RunningFleet.iapticAppName)&apiKey=\(RunningFleet.iapticAPIKey)", [],
        """
        {"id":"com.example.app","type":"application","additionalData":{"applicationUsername":"\(customer)"},
         "transaction":{"type":"ios-appstore","id":"\(transaction)","appStoreReceipt":"\(receipt)"}}
        """
      )
    case .playfab:
      (
        "/Client/RestoreIOSPurchases", [("X-Authorization", token(of: customer))], "{\"ReceiptData\":\"\(receipt)\"}"
      )
    case .mbaasy:
      (
        "/client/itunes_connect/receipts", [("Authorization", "Bearer \(RunningFleet.mbaasyClientToken)")],
        "{\"receipt\":\"\(receipt)\",\"user_identifier\":\"\(customer)\"}"
      )
    default: preconditionFailure("the door \(door.rawValue) has no client here")
    }
  }

  private func token(of customer: String) -> String {
    let claims =
      "{\"customerId\":\"\(customer)\",\"publisherId\":\(RunningFleet.openPublisher),"
      + "\"exp\":\(unixMilliseconds() / 1000 + 3600)}"
    let signed =
      Base64URL.encode(Array("{\"alg\":\"HS256\",\"typ\":\"JWT\"}".utf8)) + "."
      + Base64URL.encode(Array(claims.utf8))
    return signed + "."
      + Base64URL.encode(HMACSHA256.authenticate(Array(signed.utf8), key: Array(RunningFleet.jwtSecret.utf8)))
  }

  /// The members of the four answers that tell what the caller got.
  private struct DoorBody: Decodable {
    struct Content: Decodable {
      struct Row: Decodable {}
      var collection: [Row]?
      var fulfillments: [Row]?

      private enum CodingKeys: String, CodingKey {
        case collection
        case fulfillments = "Fulfillments"
      }
    }
    struct Purchase: Decodable {
      var userIdentifier: String?

      private enum CodingKeys: String, CodingKey { case userIdentifier = "user_identifier" }
    }

    var ok: Bool?
    var code: Int?
    var errorCode: Int?
    var data: Content?
    var inAppPurchases: [Purchase]?

    private enum CodingKeys: String, CodingKey {
      case ok, code, errorCode, data
      case inAppPurchases = "in_app_purchases"
    }
  }

  private func read(_ door: Door, _ status: Int, _ body: DoorBody?) -> DoorAnswer {
    switch (door, status) {
    case (_, 503), (_, 429): return .later
    case (.cleeng, 200): return .accepted
    case (.iaptic, 200):
      if body?.ok == true { return body?.data?.collection?.isEmpty == false ? .granted : .refused }
      // CONNECTION_FAILED and INTERNAL_ERROR ask the client to come again.
      return [6_778_002, 6_778_005].contains(body?.code ?? 0) ? .later : .refused
    case (.playfab, 200): return body?.data?.fulfillments?.isEmpty == false ? .granted : .refused
    case (.playfab, 400):
      switch body?.errorCode {
      case 1022: return .refused
      case 1127: return .later
      default: return .unexpected("playfab \(body?.errorCode ?? 0)")
      }
    case (.mbaasy, 200):
      let users = body?.inAppPurchases?.map(\.userIdentifier) ?? []
      return users.contains { $0 != nil } ? .granted : .refused
    case (.mbaasy, 206): return .accepted
    default: return .unexpected("\(door) \(status)")
    }
  }

  // MARK: Afterwards

  /// The customer's id behind a name. Cleeng's customers are found by their e-mail.
  private func customerId(_ visit: DoorVisit) -> String {
    visit.door == .cleeng ? "\(visit.customer)@example.com" : visit.customer
  }

  /// Waits until every accepted visit has its event, and reads the owners of the doors' purchases.
  func readDoors() async throws {
    // Each of these answers stands for a job of its own, which has ended or must end.
    let promised = history.doorVisits.filter { [.accepted, .granted].contains($0.answer) }
    let expected = promised.reduce(into: [DoorKey: Int]()) {
      $0[DoorKey(transaction: $1.transaction, customer: customerId($1)), default: 0] += 1
    }
    try await notingVainWaits {
      try await untilNothingIsMissing("what the doors accepted is told", every: .milliseconds(100)) {
        self.collect()
        let results = self.doorResults
        self.history.unansweredDoors = expected.filter { (results[$0.key]?.count ?? 0) < $0.value }.keys
          .map { "\($0.transaction) for \($0.customer)" }.sorted()
        return self.history.unansweredDoors
      }
    }
    for visit in history.doorVisits where [.granted, .accepted].contains(visit.answer) {
      guard history.doorOwners[visit.transaction] == nil else { continue }
      let answer = try await fleet.purchase(
        visit.transaction, environment: "Production", publisher: RunningFleet.openPublisher)
      history.doorOwners[visit.transaction] = answer.body?.customerId ?? ""
    }
  }

  /// The synchronizations that an event has told about a customer's transaction.
  private var doorResults: [DoorKey: Set<String>] {
    fleet.events.all.reduce(into: [:]) { results, event in
      results[DoorKey(transaction: event.originalTransactionId ?? "", customer: event.customerId), default: []]
        .insert(event.synchronizationId)
    }
  }

  private struct DoorKey: Hashable {
    let transaction: String
    let customer: String
  }
}
