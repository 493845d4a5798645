import FoundationEssentials
import Testing

@testable import Chaos
@testable import Fleets

/// The checker of `ops/chaos` notices every wrong step of an entitlement.
struct StepsTests {
  private static func entitlement(until day: Int, isGranted: Bool = true) -> String {
    """
    {"accessGranted": \(isGranted), "billingProblem": false, "environment": "Production", \
    "expiresAt": "2026-01-\(day)T00:00:00Z", "willRenew": true}
    """
  }

  private static func change(
    _ version: Int64, _ before: String?, _ after: String?, id: String? = nil
  ) throws -> RunningFleet.EntitlementChange {
    func read(_ json: String?) throws -> RunningFleet.Entitlement? {
      try json.map { try JSONDecoder().decode(RunningFleet.Entitlement.self, from: Data($0.utf8)) }
    }
    let body = "\(version) \(before ?? "") \(after ?? "")"
    return RunningFleet.EntitlementChange(
      id: id ?? "c\(version)", customerId: "7", customerVersion: version, offerId: "S1", before: try read(before),
      after: try read(after), body: Array(body.utf8))
  }

  /// The findings about changes, when the truth is an entitlement until the 30th at a version.
  private func findings(
    _ changes: [RunningFleet.EntitlementChange], version: Int64 = 2, truth: String? = entitlement(until: 30),
    _ expectations: Verdict.Expectations = Verdict.Expectations(isUndisturbed: true)
  ) throws -> [String] {
    let row = truth.map {
      $0.dropLast()
        + ", \"offerId\": \"S1\", "
        + "\"purchase\": {\"originalTransactionId\": \"1\", \"environment\": \"Production\", \"version\": 1}}"
    }
    let json = "{\"customerVersion\": \(version), \"entitlements\": [\(row ?? "")]}"
    var history = History()
    history.changes = changes
    history.entitlements = ["7": try JSONDecoder().decode(RunningFleet.Entitlements.self, from: Data(json.utf8))]
    let verdict = Verdict(history, expectations)
    return (verdict.problems + verdict.duplicated).filter { $0.contains("customer 7") || $0.contains("under one id") }
  }

  private let one = entitlement(until: 20)
  private let two = entitlement(until: 30)

  @Test func whatIsRight() throws {
    let steps = [try Self.change(1, nil, one), try Self.change(2, one, two)]
    #expect(try findings(steps) == [])
    // The order of arrival does not matter, and the same event may come twice.
    #expect(try findings([steps[1], steps[0], steps[1]]) == [])
    #expect(try findings([], version: 0, truth: nil) == [])
    // No entitlement and one without access are the same.
    let none = Self.entitlement(until: 20, isGranted: false)
    #expect(try findings([try Self.change(1, nil, none), try Self.change(2, nil, two)]) == [])
    #expect(try findings([try Self.change(1, nil, one), try Self.change(2, one, nil)], truth: none) == [])
  }

  @Test func missing() throws {
    #expect(try !findings([try Self.change(2, one, two)]).isEmpty)
    #expect(try !findings([try Self.change(1, nil, two)]).isEmpty)
    #expect(try !findings([], version: 0).isEmpty)
    let loses = Verdict.Expectations(losesQueues: true, isUndisturbed: true)
    #expect(try findings([try Self.change(2, one, two)], loses).isEmpty)
  }

  @Test func wrong() throws {
    let first = try Self.change(1, nil, one)
    // A gap between two steps, an end that is not true, and a customer who is behind the events.
    #expect(try !findings([first, try Self.change(2, two, two)]).isEmpty)
    #expect(try !findings([first, try Self.change(2, one, one)]).isEmpty)
    #expect(try !findings([first, try Self.change(2, one, two)], version: 1).isEmpty)
    #expect(try !findings([first, try Self.change(2, one, two)], truth: nil).isEmpty)
    // Two changes of one version, and two texts of one event.
    #expect(try !findings([first, try Self.change(2, one, two), try Self.change(2, two, two, id: "x")]).isEmpty)
    #expect(try !findings([first, try Self.change(2, one, two), try Self.change(2, one, one, id: "c1")]).isEmpty)
  }
}
