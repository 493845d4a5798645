import Configuration
import Domain
import EventLoop
import Formats
import HTTP
import JSON

/// The lives in the simulator that stands in for Apple, by its control calls.
@LoopActor
struct SimulatedLives {
  /// Why the simulator did not do it, in its own words if it gave some.
  struct Refusal: Error, Equatable {
    let words: String
  }

  /// The products that the simulator knows the prices of.
  nonisolated static let products = ["monthly", "yearly", "pass", "lifetime", "coins"]

  private let sender: any HTTPSender
  private let origin: String

  /// - Parameters:
  ///   - settings: the simulator is where Apple's production would be.
  ///   - sender: trusts the simulator's certificate.
  init(_ settings: AppStoreSettings, _ sender: any HTTPSender) {
    self.sender = sender
    let url = settings.productionURL
    let scheme = "https://"
    origin = scheme + url.dropFirst(scheme.count).prefix { $0 != "/" }
  }

  /// Begins the life of a purchase.
  func begin(_ id: OriginalTransactionId, _ product: String, of bundleId: BundleId, graceDays: Int64)
    async throws -> PlayedLife
  {
    let isSubscription = product == "monthly" || product == "yearly"
    return try await call(
      "PUT", [id.text],
      JSONWriter.object { json in
        json.member("product", product)
        json.member("kind", isSubscription ? nil : Self.kind(of: product))
        json.member("bundleId", bundleId)
        if isSubscription { json.member("graceDays", graceDays) }
      })
  }

  private static func kind(of product: String) -> String {
    switch product {
    case "lifetime": "nonConsumable"
    case "coins": "consumable"
    default: "nonRenewing"
    }
  }

  /// Reads a life.
  func life(_ id: OriginalTransactionId) async throws -> PlayedLife { try await call("GET", [id.text], nil) }

  /// Lets something happen to a life.
  func apply(_ action: PlayedLife.Action, to id: OriginalTransactionId) async throws -> PlayedLife {
    try await call("POST", [id.text, action.rawValue], [])
  }

  private func call(_ method: String, _ path: [String], _ body: [UInt8]?) async throws -> PlayedLife {
    let path = path.map(PercentCoding.encoded).joined(separator: "/")
    let answer = try await sender.send(
      HTTPClientRequest(
        method, "\(origin)/simulator/lives/\(path)", headers: [("Content-Type", "application/json")], body: body,
        timeout: .seconds(5)))
    guard (200...299).contains(answer.status) else {
      let words = String(decoding: answer.body.prefix(500), as: UTF8.self)
      throw Refusal(
        words: answer.status == 404 ? "The simulator knows no such life: it forgets all when it stops." : words)
    }
    guard let life = PlayedLife(answer.body) else {
      throw Refusal(words: "The answer of \(origin) cannot be read. Is it a simulator?")
    }
    return life
  }
}
