/// What a history proves: one row of the fault table.
struct Verdict {
  /// The promises that a scenario makes impossible, and its further expectations.
  struct Expectations {
    /// The only possible result for a transaction that Apple knows, instead of the result that the purchase deserves.
    var result: String?
    /// The possible results of synchronizations whose id begins with the key, instead.
    var exceptions: [String: Set<String>] = [:]
    /// The scenario wipes Redis: the claims are gone. So two synchronizations of one transaction may run at once.
    var forgetsClaims = false
    /// The doors' clients come, too.
    var hasDoors = false
    /// The scenario wipes RabbitMQ: the events in the subscribers' queues are gone. One witness of two is enough.
    var losesQueues = false
    /// No request may fail except with a refused connection. The fleet tells and delivers nothing twice, and nothing
    /// waits longer than ``mostDelay``.
    var isGraceful = false
    /// The longest delay of a graceful scenario, in milliseconds; `nil`: any. It is the grace period of the fleet.
    var mostDelay: Int64? = 10_000
    /// The scenario breaks no part of the fleet: everything goes its main way, and no sweep repairs anything.
    var isUndisturbed = false
    /// At least one run must have come too late, and its worker must have dropped its result.
    var needsStaleRun = false
    /// The load must have used up the budget at some time.
    var needsBudgetWait = false
    /// At least one synchronization must have waited so many milliseconds.
    var leastDelay: Int64 = 0
    /// The fleet may lose jobs on the way; the sweep brings them back.
    var allowsSweep = false
    /// The calls that one app may make to one endpoint in a second; in the sandbox it is a tenth.
    var callsPerSecond = 5000
  }

  /// How long calls that were under way at a 429 may still arrive, in milliseconds.
  static let pauseNotice: Int64 = 1000
  /// How long a call may be on its way after the worker took it out of the budget, in seconds.
  ///
  /// So many calls of the budget may arrive in addition to those taken now. Redis answers a batch of commands when all
  /// of them are on disk, and a worker that has just found its servers again has much to do.
  static let lateness = 0.75

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
  /// When each of Apple's endpoints got the most calls.
  var busiestStretches: [String: String] = [:]
  /// The other findings that break a promise.
  var problems: [String] = []

  var holds: Bool { lost.isEmpty && duplicated.isEmpty && stale == 0 && problems.isEmpty }

  let history: History
  let expectations: Expectations
  private let told: [String: [History.Event]]
  private let delivered: [String: [History.Event]]

  init(_ history: History, _ expectations: Expectations) {
    self.history = history
    self.expectations = expectations
    told = Dictionary(grouping: history.events, by: \.synchronizationId)
    delivered = Dictionary(grouping: history.webhooks, by: \.synchronizationId)
    attempted = history.registrations.count
    accepted = history.accepted.count
    stale = history.staleReads.count
    for read in history.staleReads.prefix(5) { problems.append("a stale answer about \(read)") }
    judgePromises()
    judgeEffects()
    judgeResults()
    judgeOrder()
    judgeSteps()
    judgeAnswers()
    judgeFaults()
    judgeCalls()
    judgeDoors()
  }

  // MARK: Accepted means finalized, and told

  private mutating func judgePromises() {
    for registration in history.accepted {
      let id = registration.id
      if judgePromise(id) { finalized += 1 }
      events += told[id] == nil ? 0 : 1
      webhooks += delivered[id] == nil ? 0 : 1
      let witnesses = (told[id] ?? []) + (expectations.losesQueues ? delivered[id] ?? [] : [])
      if let first = witnesses.map(\.at).min() {
        longestDelay = max(longestDelay, first - registration.answeredAt)
        if let sweep = history.sweeps[id], sweep < first, !expectations.allowsSweep {
          problems.append("\(id) had to be brought back by the sweep")
        }
        if expectations.isGraceful, history.sweptFromHands.contains(id) {
          problems.append("\(id) had to be brought back by the sweep, and no worker died")
        }
      }
    }
    for registration in history.lastRegistrations { _ = judgePromise(registration.id) }
    for (transaction, status) in history.stillClaimed.sorted(by: { $0.key < $1.key }) {
      problems.append("\(transaction) could not be registered again: \(status)")
    }
    for transaction in history.lingeringClaims { problems.append("\(transaction) stayed claimed for a while") }
  }

  private mutating func judgePromise(_ id: String) -> Bool {
    let isWitnessed = told[id] != nil || expectations.losesQueues && delivered[id] != nil
    if !isWitnessed { lost.append(id) }
    if delivered[id] == nil, !expectations.losesQueues { problems.append("\(id) has no webhook") }
    guard let status = history.statuses[id] else {
      problems.append("\(id) has no status")
      return false
    }
    if !status.isFinalized { problems.append("\(id) is not finalized") }
    return status.isFinalized
  }

  // MARK: Once

  /// Every synchronization has one event id and one event, byte for byte, however often and by whichever process it is
  /// told. This also holds if its client got no answer.
  private mutating func judgeEffects() {
    var owners: [String: String] = [:]
    let ofLoad = Set((history.registrations + history.lastRegistrations).map(\.id))
    for id in Set(told.keys).union(delivered.keys).sorted() {
      let (events, webhooks) = (told[id] ?? [], delivered[id] ?? [])
      let ids = Set((events + webhooks).map(\.id))
      if ids.count > 1 { duplicated.append("\(id): several event ids") }
      for event in ids {
        if let other = owners.updateValue(id, forKey: event) {
          duplicated.append("\(id) and \(other) have one event id")
        }
      }
      if Set(events.map(\.body)).count > 1 || Set(webhooks.map(\.body)).count > 1 {
        duplicated.append("\(id): several events under one id")
      }
      let versions = Set(events.map(\.version))
      if versions.count > 1 { duplicated.append("\(id): took effect more than once") }
      let results = Set((events + webhooks).map(\.result))
      if results.count > 1 { duplicated.append("\(id): several results") }
      if Set(events.map(\.offer)).count > 1 { duplicated.append("\(id): several offers") }
      if expectations.isGraceful {
        if events.count > 1 { problems.append("\(id): told \(events.count) times") }
        if webhooks.count > 1 { problems.append("\(id): delivered \(webhooks.count) times") }
      }
      guard let status = history.statuses[id], status.isFinalized else { continue }
      if !versions.isSubset(of: [status.version]) {
        problems.append("\(id): status of version \(status.version), event of \(versions.sorted())")
      }
      if !results.isSubset(of: [status.result]) {
        duplicated.append("\(id): \(status.result) in the status, \(results.sorted()) in the event")
      }
      // A status tells the access of now. Cleeng's door moves a purchase to whoever pays with it again.
      let mayBeGone = history.mayLoseAccess || expectations.hasDoors && !ofLoad.contains(id)
      if let offer = events.first?.offer, offer != status.offer, !(mayBeGone && status.offer == nil) {
        duplicated.append("\(id): \(status.offer ?? "no offer") in the status, \(offer) in the event")
      }
    }
  }

  // MARK: What the purchase deserves

  private mutating func judgeResults() {
    let all = history.registrations + history.lastRegistrations
    // By then every fault has ended.
    let last = Set(history.lastRegistrations.map(\.id))
    for (_, registrations) in Dictionary(grouping: all, by: { Deserved.purchase(of: $0.transaction) }) {
      let known = registrations.compactMap { registration in
        told[registration.id]?.first.map { (registration: registration, event: $0) }
      }
      let first = known.filter { $0.event.offer != nil }.min { $0.event.version < $1.event.version }
      if first == nil, !expectations.losesQueues,
        let refused = known.first(where: { $0.event.result == Deserved.ofAnother.result })
      {
        problems.append("\(refused.registration.id): owned by another customer, and nobody was told that it owns it")
      }
      for (registration, event) in known {
        let id = registration.id
        if let allowed = expectations.exceptions.first(where: { id.hasPrefix($0.key) })?.value {
          if !allowed.contains(event.result) { problems.append("\(id): \(event.result)") }
          continue
        }
        var deserved = Deserved.of(registration.transaction)
        if let result = expectations.result, deserved.result != "TRANSACTION_ID_NOT_FOUND", !last.contains(id) {
          deserved = Deserved(result)
        }
        var allowed = [deserved]
        if deserved.offer != nil, registration.customer != first?.registration.customer {
          allowed = [.ofAnother]
        }
        if !allowed.contains(Deserved(event.result, event.offer)) {
          problems.append("\(id): \(event.result) with \(event.offer ?? "no offer")")
        }
      }
    }
  }

  // MARK: Versions

  /// The versions of a purchase never fall: a later synchronization reads the purchase at that version or later. One
  /// without a purchase has version 0.
  private mutating func judgeOrder() {
    let all = history.accepted + history.lastRegistrations
    for (_, registrations) in Dictionary(grouping: all, by: { Deserved.purchase(of: $0.transaction) }) {
      let known = registrations.compactMap { registration in
        told[registration.id]?.first.map { (registration: registration, event: $0) }
      }
      for (registration, event) in known {
        let before = known.first {
          $0.event.version > event.version
            && end(of: $0.registration, $0.event, for: registration) < registration.sentAt
        }
        if let before {
          problems.append("\(registration.id) has a smaller version than \(before.registration.id) before it")
        }
      }
    }
  }

  /// The time from which a later registration must get no smaller version.
  ///
  /// As long as no claim is forgotten, a gateway could only accept another one of the transaction after this one's
  /// end. Otherwise only a client that has seen this one's event may rely on the order.
  private func end(
    of registration: History.Registration, _ event: History.Event, for later: History.Registration
  ) -> Int64 {
    let isClaimed = !expectations.forgetsClaims && registration.transaction == later.transaction
    return isClaimed ? registration.answeredAt : event.at
  }

  // MARK: Answers and faults

  private mutating func judgeAnswers() {
    if history.accepted.isEmpty { problems.append("nothing was accepted") }
    for registration in history.registrations {
      if case .unexpected(let status) = registration.answer {
        problems.append("\(registration.id) was answered with \(status)")
      }
    }
    if history.forgedWebhooks > 0 { problems.append("\(history.forgedWebhooks) webhooks with a wrong signature") }
    guard expectations.isGraceful else { return }
    let failed = history.registrations.filter { $0.answer == .unknown || $0.answer == .unavailable }
    if let first = failed.first {
      problems.append(
        "\(failed.count) registrations failed with more than a refused connection, such as \(first.id): "
          + "\(first.cause ?? "\(first.answer)")")
    }
    if history.handedBack > 0 { problems.append("\(history.handedBack) jobs were handed back") }
    if let most = expectations.mostDelay, longestDelay > most { problems.append("a delay of \(longestDelay) ms") }
  }

  private mutating func judgeFaults() {
    if history.faults.isEmpty, !expectations.isUndisturbed { problems.append("nothing was broken") }
    if history.staleRuns == 0, expectations.needsStaleRun { problems.append("no late result was there to be refused") }
    if history.budgetWaits == 0, expectations.needsBudgetWait { problems.append("the budget was never used up") }
    if longestDelay < expectations.leastDelay { problems.append("nothing waited \(expectations.leastDelay) ms") }
    for repair in history.repairs { problems.append("nothing was broken, and yet \(repair)") }
    problems += history.vainWaits
    for role in history.unreadMetrics { problems.append("the metrics of \(role) could not be read") }
    if history.statusReads == 0 { problems.append("no status was read behind an event") }
    if history.ledgerReads == 0 { problems.append("no purchase was read behind an event") }
  }

  // MARK: Apple's budget

  private mutating func judgeCalls() {
    let kinds = Dictionary(grouping: heardCalls) { "\($0.environment) \($0.endpoint)" }
    for (kind, calls) in kinds {
      let isSandbox = calls[0].environment == "sandbox"
      let limit = isSandbox ? max(1, expectations.callsPerSecond / 10) : expectations.callsPerSecond
      let calls = calls.sorted { $0.time < $1.time }
      let (excess, stretch) = busiestStretch(calls, perSecond: limit)
      let pace = pace(stretch)
      busiestStretches[kind] = pace
      // One more call is fine: times are whole milliseconds, and the budgets of the sandbox are small.
      if Double(excess) > Double(limit) * (1 + Self.lateness) + 1 {
        problems.append("\(kind) with a budget of \(limit) calls a second: \(pace)")
      }
      let forbidden = forbidden(calls)
      if !forbidden.isEmpty {
        problems.append(
          "\(forbidden.count) calls of \(kind) that a 429 had forbidden: \(forbidden.prefix(10).joined(separator: "; "))"
        )
      }
    }
  }

  /// The calls, without each 429 that the fleet cannot know: a reset of its connection, for the sake of another call,
  /// came before the client had surely read it.
  private var heardCalls: [History.Call] {
    let resets = history.calls.filter(\.isReset).reduce(into: [:]) { $0[$1.connection] = $1.time }
    return history.calls.map { call in
      var call = call
      if let reset = resets[call.connection], reset - call.time < Self.pauseNotice { call.retryAt = nil }
      return call
    }
  }

  /// The stretch of time, of any length, whose calls most exceed the refill of the budget during it.
  private func busiestStretch(
    _ calls: [History.Call], perSecond limit: Int
  ) -> (excess: Int, calls: ArraySlice<History.Call>) {
    func refilled(_ call: Int) -> Int { Int(calls[call].time - calls[0].time) * limit / 1000 }
    var (start, most) = (0, (excess: 0, calls: calls[..<0]))
    for end in calls.indices {
      if end - refilled(end) < start - refilled(start) { start = end }
      let excess = end - start + 1 - (refilled(end) - refilled(start))
      if excess > most.excess { most = (excess, calls[start...end]) }
    }
    return most
  }

  /// The number of calls and their duration, the calls in each tenth of the first second, and whether the checker was
  /// stalled.
  private func pace(_ calls: ArraySlice<History.Call>) -> String {
    guard let first = calls.first?.time, let last = calls.last?.time else { return "none" }
    let tenths = calls.reduce(into: [Int: Int]()) { $0[Int($1.time - first) / 100, default: 0] += 1 }
    return
      "\(calls.count) in \(last - first) ms from \(first), \((0..<10).map { tenths[$0] ?? 0 }) in the first tenths of a second"
      + stalls(from: first, to: last)
  }

  /// When the checker was stalled, as the end of a sentence.
  private func stalls(from first: Int64, to last: Int64) -> String {
    history.stalls.filter { (first...last + 1000).contains($0.time) }
      .map { ", and nothing was looked at for \($0.milliseconds) ms before \($0.time)" }.joined()
  }

  /// The calls of an endpoint that came although a `Retry-After` of more than ``pauseNotice`` ago forbade them.
  private func forbidden(_ calls: [History.Call]) -> [String] {
    var forbidden: [String] = []
    /// The times within which no call may come.
    var pause: ClosedRange<Int64>?
    for call in calls {
      if let known = pause, known.contains(call.time) {
        let start = known.lowerBound - Self.pauseNotice
        forbidden.append(
          "at \(call.time), of a pause from \(start) to \(known.upperBound)" + stalls(from: start, to: call.time))
      }
      guard let end = call.retryAt else { continue }
      let start = call.time + Self.pauseNotice
      if let known = pause, known.upperBound >= call.time {
        pause = known.lowerBound...max(known.upperBound, end - 1)
      } else {
        pause = start < end ? start...(end - 1) : nil
      }
    }
    return forbidden
  }
}
