public import Formats

/// Random subscriptions from a seed: one third is registered, one third carries its customer's token, and the rest is
/// nobody's. Two lives of a kind belong to one customer.
public struct RandomLives: Sendable {
  /// How a life gets its owner, if it gets one.
  public enum Way: Int, CaseIterable, Sendable { case registered, token, nobody }

  public let count: Int

  /// Creates a population.
  public init(count: Int) { self.count = count }

  /// The original transaction id of a life.
  public func id(_ index: Int) -> String { "\(20_000_000_000_000 + index)" }

  /// How a life gets its owner.
  public func way(_ index: Int) -> Way { Way(rawValue: index % Way.allCases.count)! }

  /// The customer of a life; the life need not be theirs.
  public func customer(_ index: Int) -> Int64 { 100 + Int64(index / 6) * 3 + Int64(index % 3) }

  /// The indices of the lives that clients register.
  public var registered: [Int] { (0..<count).filter { way($0) == .registered } }

  /// All customers, each with the body that puts it.
  public var customers: [(id: String, body: String)] {
    // Only one of a customer's lives names the customer. The other one carries the same token.
    (0..<count).filter { $0 % 6 < 3 }.map { index in
      (String(customer(index)), way(index) == .token ? "{\"appAccountToken\": \"\(token(index))\"}" : "{}")
    }
  }

  /// The two lives of a customer have one token.
  private func token(_ index: Int) -> String {
    "00000000-0000-4000-8000-\(100_000_000_000 + index - index % 6 + index % 3)"
  }

  /// Returns the line that begins a life.
  public func line(_ index: Int, _ random: inout SeededRandom) -> String {
    var members = ["\"originalTransactionId\": \"\(id(index))\""]
    members.append("\"product\": \"\(Bool.random(using: &random) ? "monthly" : "yearly")\"")
    // Most lives move. Some are in the middle of their period at the end.
    members.append("\"periodMonths\": \([1, 1, 1, 2, 300].randomElement(using: &random)!)")
    if Bool.random(using: &random) { members.append("\"graceDays\": 16") }
    if Int.random(in: 0..<4, using: &random) == 0 { members.append("\"atEnd\": \"fail\"") }
    if Int.random(in: 0..<4, using: &random) == 0 { members.append("\"trial\": true") }
    if way(index) == .token { members.append("\"appAccountToken\": \"\(token(index))\"") }
    return "{\(members.joined(separator: ", "))}"
  }

  /// Something that may happen to a life.
  public struct Action: Sendable {
    let name: String
    /// The body of the call.
    let body: String
  }

  /// Returns something that may happen to a life.
  public static func action(_ random: inout SeededRandom) -> Action { actions.randomElement(using: &random)! }

  private static let actions = [
    ("renew", ""), ("fail", ""), ("fail", "{\"when\": \"end\"}"), ("recover", ""), ("end-grace", ""),
    ("expire", "{\"reason\": \"voluntary\"}"), ("upgrade", "{\"product\": \"yearly\", \"periodMonths\": 1}"),
    ("downgrade", "{\"product\": \"monthly\"}"), ("upgrade", "{\"separate\": true, \"periodMonths\": 1}"),
    ("disable-renewal", ""), ("enable-renewal", ""), ("extend", "{\"days\": 15}"), ("refund", ""), ("refund", ""),
    ("reverse", ""), ("renew", "{\"periodMonths\": 300}"),
  ].map { Action(name: $0.0, body: $0.1) }
}
