import Fleets

/// The changes of entitlements: every version is told, each step begins where the one before it ended, and the last one
/// is the truth.
extension Verdict {
  mutating func judgeSteps() {
    problems += history.ledgerDifferences.map { "ledger: \($0)" }
    for id in history.unreadEntitlements { problems.append("the entitlements of customer \(id) could not be read") }
    for (id, changes) in Dictionary(grouping: history.changes, by: \.id) where Set(changes.map(\.body)).count > 1 {
      duplicated.append("\(id): several changes of entitlements under one id")
    }
    // RabbitMQ has lost some of the events after it had confirmed them.
    guard !expectations.losesQueues else { return }
    let told = Dictionary(grouping: history.changes, by: \.customerId)
    for (customer, found) in history.entitlements.sorted(by: { $0.key < $1.key }) {
      let changes = Dictionary((told[customer] ?? []).map { ($0.id, $0) }) { one, _ in one }.values
      judgeVersions(of: customer, changes.map(\.customerVersion), last: found.customerVersion)
      for (offer, steps) in Dictionary(grouping: changes, by: \.offerId) {
        judge(
          steps.sorted { $0.customerVersion < $1.customerVersion }, of: "customer \(customer), offer \(offer)",
          truth: found.entitlements.first { $0.offerId == offer }?.told)
      }
      for row in found.entitlements
      where row.told.accessGranted && !changes.contains(where: { $0.offerId == row.offerId }) {
        problems.append("customer \(customer) has \(row.offerId), and no event told it")
      }
    }
  }

  private mutating func judgeVersions(of customer: String, _ versions: [Int64], last: Int64) {
    let told = Set(versions)
    if told != (last < 1 ? [] : Set(1...last)) {
      problems.append("customer \(customer) has version \(last), and was told \(told.sorted())")
    }
  }

  private mutating func judge(
    _ steps: [RunningFleet.EntitlementChange], of whom: String, truth: RunningFleet.Entitlement?
  ) {
    for (one, next) in zip(steps, steps.dropFirst()) {
      if one.customerVersion == next.customerVersion {
        duplicated.append("\(whom): two changes have version \(one.customerVersion)")
      }
      if !isSame(one.after, next.before) {
        problems.append(
          "\(whom): version \(one.customerVersion) ends with \(text(one.after)), "
            + "and version \(next.customerVersion) begins with \(text(next.before))")
      }
    }
    if let first = steps.first, first.before?.accessGranted == true {
      problems.append("\(whom): the first version begins with access")
    }
    if let last = steps.last, !isSame(last.after, truth) {
      problems.append("\(whom): was told \(text(last.after)) last, and \(text(truth)) is true")
    }
  }

  /// No entitlement and one without access are the same for the customer.
  private func isSame(_ one: RunningFleet.Entitlement?, _ other: RunningFleet.Entitlement?) -> Bool {
    one == other || one?.accessGranted != true && other?.accessGranted != true
  }

  private func text(_ entitlement: RunningFleet.Entitlement?) -> String { entitlement.map { "\($0)" } ?? "nothing" }
}
