import Domain
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import Testing

extension RunningFleet {
  /// Gives a customer a grant; returns what the gateway answered.
  func give(
    _ members: String = #""offerId":"S1""#, to customer: Int64 = 7, for time: Duration = .seconds(3600),
    publisher: PublisherId = RunningFleet.publisher, gateway: String = "gateway-1"
  ) async throws -> (status: Int, grant: KnownGrant?, text: String) {
    let end = Int64(Date().timeIntervalSince1970 * 1000) + Int64(time / .milliseconds(1))
    let answer = try await send(
      "POST", url("/customers/\(customer)/grants", gateway: gateway), Self.publisherHeaders(publisher),
      #"{\#(members),"reason":"goodwill","expiresAt":"\#(rfc3339(milliseconds: end))"}"#)
    return (
      answer.status, try? JSONDecoder().decode(KnownGrant.self, from: Data(answer.body)),
      String(decoding: answer.body, as: UTF8.self)
    )
  }

  /// Withdraws a grant.
  func withdraw(
    _ id: String, of customer: Int64 = 7, publisher: PublisherId = RunningFleet.publisher, gateway: String = "gateway-1"
  ) async throws -> KnownGrant {
    let answer = try await send(
      "POST", url("/customers/\(customer)/grants/\(id)/withdraw", gateway: gateway),
      Self.publisherHeaders(publisher))
    #expect(answer.status == 200)
    return try JSONDecoder().decode(KnownGrant.self, from: Data(answer.body))
  }

  static func publisherHeaders(_ publisher: PublisherId) -> [(name: String, value: String)] {
    [("X-Publisher-Token", token(of: publisher)), ("Content-Type", "application/json")]
  }

  struct KnownGrant: Decodable, Equatable {
    let grantId: String
    let customerId: String
    let offerId: String
    let state: String
    let expiresAt: String
  }
}
