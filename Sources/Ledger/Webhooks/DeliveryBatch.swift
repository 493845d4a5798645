import Domain
import Formats

/// Several changes of deliveries as the rows that one commit writes, decided from values alone.
///
/// Each list is in the order of its keys and has each key once, so that two commits lock rows in the same order.
struct DeliveryBatch {
  /// Names a delivery.
  struct Key: Hashable, Comparable {
    let event: ExactText
    let endpoint: ExactText
    let round: ExactText

    static func < (one: Self, other: Self) -> Bool {
      (one.event, one.endpoint, one.round) < (other.event, other.endpoint, other.round)
    }
  }

  /// Names an endpoint.
  struct Endpoint: Hashable, Comparable {
    let publisher: Int64
    let id: ExactText

    static func < (one: Self, other: Self) -> Bool { (one.publisher, one.id) < (other.publisher, other.id) }
  }

  /// The next attempt of a delivery.
  struct Next: Equatable {
    var publisher: Int64
    var attempt: Int
    /// `nil` is at once.
    var dueAt: Int64?
  }

  /// The events whose endpoints are known now.
  let seen: [String]
  /// The deliveries of those events that have not ended.
  let opened: [(Key, Next)]
  /// The deliveries whose attempt failed, and the next attempt of each.
  let advanced: [(Key, Next)]
  let postponed: [(Key, Int64)]
  /// The endpoints that have an event now, in whatever round. No round needs to go on.
  let delivered: [Key]
  /// The deliveries that ended otherwise.
  let ended: [Key]
  /// The endpoints of which an attempt succeeded.
  let healthy: [Endpoint]
  /// The endpoints whose last attempt failed: the first failure since the last success of the batch.
  let failing: [(Endpoint, since: Int64, isConfigured: Bool)]
  let log: [(change: DeliveryChange, attempt: DeliveryAttempt)]
  /// Whether an earlier commit may have written some of the log.
  let isRepeated: Bool

  init(_ changes: [DeliveryChange], isRepeated: Bool = false) {
    self.isRepeated = isRepeated
    var next: [Key: Next] = [:]
    var (advanced, postponed): ([Key: Next], [Key: Int64]) = ([:], [:])
    var (delivered, ended): (Set<Key>, Set<Key>) = ([], [])
    var log: [(change: DeliveryChange, attempt: DeliveryAttempt)] = []
    var health: [Endpoint: (recovers: Bool, since: Int64?, isConfigured: Bool)] = [:]
    for change in changes {
      let key = Key(event: change.eventId.exact, endpoint: change.endpointId.exact, round: change.round.exact)
      switch change.kind {
      case .seen: break
      case .dropped: ended.insert(key)
      case .postponed(let time):
        if change.endpoints == nil { postponed[key] = max(postponed[key] ?? .min, time) }
        next[key] = Next(publisher: change.publisherId, attempt: 1, dueAt: time)
      case .attempted(let attempt, let isConfigured):
        log.append((change, attempt))
        let endpoint = Endpoint(publisher: change.publisherId, id: change.endpointId.exact)
        var state = health[endpoint] ?? (false, nil, isConfigured)
        switch attempt.outcome {
        case .delivered:
          delivered.insert(Key(event: key.event, endpoint: key.endpoint, round: ""))
          (state.recovers, state.since) = (true, nil)
        case .failed:
          let following = Next(publisher: change.publisherId, attempt: attempt.number + 1, dueAt: attempt.nextAt)
          if (advanced[key]?.attempt ?? 0) < following.attempt { advanced[key] = following }
          next[key] = advanced[key]
          state.since = state.since ?? attempt.time
        case .abandoned:
          ended.insert(key)
          state.since = state.since ?? attempt.time
        case .skipped: ended.insert(key)
        }
        if attempt.outcome != .skipped { health[endpoint] = state }
      }
    }
    var opened: [Key: Next] = [:]
    for change in changes {
      for endpoint in change.endpoints ?? [] {
        let key = Key(event: change.eventId.exact, endpoint: endpoint.exact, round: "")
        guard !delivered.contains(key), !ended.contains(key) else { continue }
        opened[key] = next[key] ?? Next(publisher: change.publisherId, attempt: 1)
      }
    }
    seen = Set(changes.filter { $0.endpoints != nil }.map(\.eventId.exact)).sorted().map(\.text)
    self.opened = opened.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    self.advanced = advanced.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    self.postponed = postponed.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    self.delivered = delivered.sorted()
    self.ended = ended.sorted()
    let states = health.sorted { $0.key < $1.key }
    healthy = states.filter(\.value.recovers).map(\.key)
    failing = states.compactMap { state in
      state.value.since.map { (state.key, since: $0, isConfigured: state.value.isConfigured) }
    }
    self.log = log
  }
}
