/// What a history proves: one row of the fault table.
struct Verdict {
  /// What a scenario makes impossible to promise, or expects beyond the rest.
  struct Expectations {
    /// The results that may come of an accepted purchase.
    var results: Set<String> = ["PURCHASE_SYNCHRONIZED"]
    /// Redis was wiped: what it knew of finalized synchronizations is gone, and claims with it.
    var forgetsStatuses = false
    /// RabbitMQ was wiped: events in the queues of subscribers are gone with it; one witness of two is enough.
    var losesQueues = false
    /// Every registration must be answered, or its connection refused.
    var answersEverything = false
    /// No event may come twice.
    var tellsOnce = false
    /// Nothing is broken on purpose.
    var isUndisturbed = false
    /// Calls that one app may make to one endpoint in a second.
    var callsPerSecond = 5000
  }

  var attempted = 0
  var accepted = 0
  var finalized = 0
  var events = 0
  var webhooks = 0
  var lost: [String] = []
  var duplicated: [String] = []
  var stale = 0
  /// From 202 to the first event, in milliseconds.
  var longestDelay: Int64 = 0
  /// What else does not hold.
  var problems: [String] = []

  var holds: Bool { lost.isEmpty && duplicated.isEmpty && stale == 0 && problems.isEmpty }

  init(_ history: History, _ expectations: Expectations) {
    let accepted = history.accepted
    attempted = history.registrations.count
    self.accepted = accepted.count
    stale = history.staleReads.count
    var seen: [String: [History.Event]] = [:]
    for event in history.events { seen[event.synchronizationId, default: []].append(event) }
    var delivered: [String: [History.Event]] = [:]
    for webhook in history.webhooks { delivered[webhook.synchronizationId, default: []].append(webhook) }
    events = seen.count
    webhooks = delivered.count

    var versions: [String: Int64] = [:]
    for registration in accepted {
      let id = registration.id
      let told = seen[id] ?? []
      let witnesses = told + (expectations.losesQueues ? delivered[id] ?? [] : [])
      if witnesses.isEmpty { lost.append(id) }
      if delivered[id] == nil, !expectations.losesQueues { problems.append("\(id) has no webhook") }
      if let first = witnesses.map(\.at).min() { longestDelay = max(longestDelay, first - registration.answeredAt) }
      checkEffects(id, told, delivered[id] ?? [], expectations)
      versions[id] = told.first?.version
      checkStatus(id, history.statuses[id], told, expectations)
    }
    checkVersions(accepted, versions)
    // With its claims gone, a transaction may be registered while an older synchronization of it is open.
    if !expectations.forgetsStatuses { checkOrder(accepted, versions) }
    if !expectations.forgetsStatuses {
      for (transaction, status) in history.stillClaimed.sorted(by: { $0.key < $1.key }) {
        problems.append("\(transaction) could not be registered again: \(status)")
      }
    }
    if accepted.isEmpty { problems.append("nothing was accepted") }
    if history.faults.isEmpty, !expectations.isUndisturbed { problems.append("nothing was broken") }
    checkAnswers(history, expectations)
    checkBudget(history.calls, expectations.callsPerSecond)
    if history.forgedWebhooks > 0 { problems.append("\(history.forgedWebhooks) webhooks with a wrong signature") }
  }

  /// One event id, one version, one result, whoever tells it how often.
  private mutating func checkEffects(
    _ id: String, _ told: [History.Event], _ delivered: [History.Event], _ expectations: Expectations
  ) {
    if Set((told + delivered).map(\.id)).count > 1 { duplicated.append("\(id): several event ids") }
    if Set(told.map(\.version)).count > 1 { duplicated.append("\(id): took effect more than once") }
    let results = Set((told + delivered).map(\.result))
    if results.count > 1 { duplicated.append("\(id): several results") }
    for result in results where !expectations.results.contains(result) { problems.append("\(id): \(result)") }
    if expectations.tellsOnce, told.count > 1 { problems.append("\(id): told \(told.count) times") }
  }

  private mutating func checkStatus(
    _ id: String, _ status: History.Status?, _ told: [History.Event], _ expectations: Expectations
  ) {
    guard let status else {
      if !expectations.forgetsStatuses { problems.append("\(id) has no status") } else { finalized += 1 }
      return
    }
    guard status.isFinalized else { return problems.append("\(id) is not finalized") }
    finalized += 1
    if let version = told.first?.version, status.version != version {
      problems.append("\(id): status of version \(status.version), event of \(version)")
    }
  }

  /// A version belongs to one synchronization.
  private mutating func checkVersions(_ accepted: [History.Registration], _ versions: [String: Int64]) {
    var used: [String: String] = [:]
    for registration in accepted {
      guard let version = versions[registration.id] else { continue }
      let key = "\(registration.transaction)/\(version)"
      if let other = used[key] { duplicated.append("\(registration.id) and \(other) have one version") }
      used[key] = registration.id
    }
  }

  /// A transaction's next synchronization is accepted only after the last one is finalized, so versions grow.
  private mutating func checkOrder(_ accepted: [History.Registration], _ versions: [String: Int64]) {
    var last: [String: (version: Int64, id: String)] = [:]
    for registration in accepted.sorted(by: { $0.answeredAt < $1.answeredAt }) {
      guard let version = versions[registration.id] else { continue }
      if let before = last[registration.transaction], before.version > version {
        problems.append("\(registration.id) has a smaller version than \(before.id) before it")
      }
      last[registration.transaction] = (version, registration.id)
    }
  }

  private mutating func checkAnswers(_ history: History, _ expectations: Expectations) {
    for registration in history.registrations {
      if case .unexpected(let status) = registration.answer {
        problems.append("\(registration.id) was answered with \(status)")
      }
    }
    let unanswered = history.registrations.filter { $0.answer == .unknown || $0.answer == .unavailable }
    if expectations.answersEverything, !unanswered.isEmpty {
      problems.append("\(unanswered.count) registrations failed with more than a refused connection")
    }
  }

  /// No window of a second may hold more than two seconds' worth: the limit, and one second's excess.
  private mutating func checkBudget(_ calls: [History.Call], _ limit: Int) {
    for (endpoint, calls) in Dictionary(grouping: calls, by: \.endpoint) {
      let times = calls.map(\.time).sorted()
      var start = 0
      var most = 0
      for end in times.indices {
        while times[end] - times[start] >= 1000 { start += 1 }
        most = max(most, end - start + 1)
      }
      if most > 2 * limit { problems.append("\(most) calls of \(endpoint) in one second, \(limit) allowed") }
    }
  }
}
