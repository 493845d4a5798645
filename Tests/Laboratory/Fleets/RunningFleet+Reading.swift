import AMQP
public import Domain
import EventLoop
import FoundationEssentials
import HTTP
import HTTPClient
import TestSupport

extension RunningFleet {
  /// A customer's access to one offer, as events and answers tell it.
  public struct Entitlement: Decodable, Sendable, Equatable {
    public let accessGranted: Bool
    public let billingProblem: Bool
    public let environment: String
    public let expiresAt: String?
    public let willRenew: Bool?
  }

  /// An event of a changed entitlement, as the subscriber got it.
  public struct EntitlementChange: Sendable, Equatable {
    public let id: String
    public let customerId: String
    public let customerVersion: Int64
    public let offerId: String
    public let before: Entitlement?
    public let after: Entitlement?
    public let body: [UInt8]

    /// Creates an event.
    public init(
      id: String, customerId: String, customerVersion: Int64, offerId: String, before: Entitlement?,
      after: Entitlement?, body: [UInt8]
    ) {
      self.id = id
      self.customerId = customerId
      self.customerVersion = customerVersion
      self.offerId = offerId
      self.before = before
      self.after = after
      self.body = body
    }
  }

  /// The answer about a purchase.
  public struct Purchase: Decodable, Sendable {
    public let customerId: String?
    public let transactionId: String
    public let version: Int64
    /// In thousandths of the currency.
    public let price: Int64?
    public let access: Access?

    /// What the purchase gives its owner.
    public struct Access: Decodable, Sendable {
      public let accessGranted: Bool
      public let rule: String
      public let expiresAt: String?
    }
  }

  /// The answer about a customer's entitlements.
  public struct Entitlements: Decodable, Sendable {
    public let customerVersion: Int64
    public let entitlements: [Row]

    /// One entitlement, with the purchase that decides.
    public struct Row: Decodable, Sendable {
      public let offerId: String
      public let purchase: Deciding
      /// The members that events tell, too.
      public let told: Entitlement

      private enum Member: CodingKey { case offerId, purchase }

      public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        offerId = try members.decode(String.self, forKey: .offerId)
        purchase = try members.decode(Deciding.self, forKey: .purchase)
        told = try Entitlement(from: decoder)
      }
    }

    /// The purchase that decides.
    public struct Deciding: Decodable, Sendable {
      public let originalTransactionId: String
      public let environment: String
      public let version: Int64
    }
  }

  /// Waits for the events of synchronizations, and returns all events.
  public func finished(_ ids: Set<String>) async throws -> [Event] {
    let some = ids.sorted().prefix(20).joined(separator: ", ")
    return try await events.wait("those of \(some)") { ids.isSubset(of: Set($0.map(\.synchronizationId))) }
  }

  /// Reads a purchase: the code of the answer, and with 200 its data.
  public func purchase(
    _ id: String, environment: String, publisher: PublisherId = RunningFleet.publisher, gateway: String = "gateway-1"
  ) async throws -> (code: Int, body: Purchase?) {
    try await read("/purchases/\(id)?environment=\(environment)", publisher, gateway)
  }

  /// Reads a customer's entitlements: the code of the answer, and with 200 its data.
  public func entitlements(
    _ customer: String, publisher: PublisherId = RunningFleet.publisher, gateway: String = "gateway-1"
  ) async throws -> (code: Int, body: Entitlements?) {
    try await read("/customers/\(customer)/entitlements", publisher, gateway)
  }

  private func read<Answer: Decodable>(
    _ path: String, _ publisher: PublisherId, _ gateway: String
  ) async throws -> (code: Int, body: Answer?) {
    let answer = try await send("GET", url(path, gateway: gateway), headers(publisher))
    return (answer.status, answer.status == 200 ? try JSONDecoder().decode(Answer.self, from: Data(answer.body)) : nil)
  }
}

extension RunningFleet.EntitlementChange {
  static let topic = "entitlementsChanged"

  /// Reads a delivery; `nil` for another topic.
  init?(_ delivery: AMQPDelivery) {
    guard delivery.routingKey.hasPrefix(Self.topic + "."),
      let data = try? JSONDecoder().decode(Envelope.self, from: Data(delivery.body)).data
    else { return nil }
    self.init(
      id: delivery.properties.messageID ?? "", customerId: data.customerId, customerVersion: data.customerVersion,
      offerId: data.offerId, before: data.before, after: data.after, body: delivery.body)
  }

  private struct Envelope: Decodable {
    let data: Content

    struct Content: Decodable {
      let customerId: String
      let customerVersion: Int64
      let offerId: String
      let before: RunningFleet.Entitlement?
      let after: RunningFleet.Entitlement?
    }
  }
}
