import Domain

/// Several changes of deliveries as the rows that one commit writes, decided from values alone.
///
/// Each list is in the order of its keys and has each key once, so that two commits lock rows in the same order.
struct DeliveryBatch {
  /// Names a delivery.
  struct Key: Hashable, Comparable {
    let event: EventId
    let endpoint: EndpointId
    let round: DeliveryRound

    static func < (one: Self, other: Self) -> Bool {
      (one.event, one.endpoint, one.round) < (other.event, other.endpoint, other.round)
    }
  }

  /// Names an endpoint.
  struct Endpoint: Hashable, Comparable {
    let publisher: PublisherId
    let id: EndpointId

    static func < (one: Self, other: Self) -> Bool { (one.publisher, one.id) < (other.publisher, other.id) }
  }

  /// The next attempt of a delivery.
  struct Next: Equatable {
    var publisher: PublisherId
    var attempt: Int
    /// `nil` is at once.
    var dueAt: Int64?
  }

  /// A delivery, with its next attempt.
  struct Step: Equatable {
    let key: Key
    let next: Next
  }

  /// A delivery that waits.
  struct Postponed: Equatable {
    let key: Key
    /// In milliseconds since 1970.
    let time: Int64
  }

  /// An endpoint whose last attempt failed.
  struct Failing: Equatable {
    let endpoint: Endpoint
    /// The first failure since the last success of the batch, in milliseconds since 1970.
    let since: Int64
    let isConfigured: Bool
  }

  /// A look at an event's endpoints, of one notifier or of several.
  struct Seen: Equatable {
    let event: EventId
    let publisher: PublisherId
    let topic: EventTopic
    /// The environment of the event's purchase.
    let environment: WebhookEnvironment?
    /// The newest revision that one of them knew; `nil` if none is known.
    var revision: Int64?
    /// The endpoints that one of them knew.
    var endpoints: Set<EndpointId>
  }

  /// The events whose endpoints are known now.
  let seen: [Seen]
  /// The deliveries of those events that have not ended.
  let opened: [Step]
  /// The deliveries whose attempt failed, and the next attempt of each.
  let advanced: [Step]
  let postponed: [Postponed]
  /// The endpoints that have an event now, in whatever round. No round needs to go on.
  let delivered: [Key]
  /// The deliveries that ended otherwise.
  let ended: [Key]
  /// The endpoints of which an attempt succeeded.
  let healthy: [Endpoint]
  let failing: [Failing]
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
      let key = Key(event: change.eventId, endpoint: change.endpointId, round: change.round)
      switch change.kind {
      case .seen: break
      case .dropped: ended.insert(key)
      case .putAside(let attempt):
        log.append((change, attempt))
        ended.insert(key)
      case .postponed(let time):
        if change.look == nil { postponed[key] = max(postponed[key] ?? .min, time) }
        next[key] = Next(publisher: change.publisherId, attempt: 1, dueAt: time)
      case .attempted(let attempt, let isConfigured):
        log.append((change, attempt))
        let endpoint = Endpoint(publisher: change.publisherId, id: change.endpointId)
        var state = health[endpoint] ?? (false, nil, isConfigured)
        switch attempt.result {
        case .delivered:
          delivered.insert(Key(event: key.event, endpoint: key.endpoint, round: .first))
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
        if attempt.result != .skipped { health[endpoint] = state }
      }
    }
    let (seen, opened) = Self.looks(changes, next) { delivered.contains($0) || ended.contains($0) }
    self.seen = seen.values.sorted { $0.event < $1.event }
    self.opened = opened.sorted { $0.key < $1.key }.map { Step(key: $0.key, next: $0.value) }
    self.advanced = advanced.sorted { $0.key < $1.key }.map { Step(key: $0.key, next: $0.value) }
    self.postponed = postponed.sorted { $0.key < $1.key }.map { Postponed(key: $0.key, time: $0.value) }
    self.delivered = delivered.sorted()
    self.ended = ended.sorted()
    let states = health.sorted { $0.key < $1.key }
    healthy = states.filter(\.value.recovers).map(\.key)
    failing = states.compactMap { state in
      state.value.since.map { Failing(endpoint: state.key, since: $0, isConfigured: state.value.isConfigured) }
    }
    self.log = log
  }

  /// The events that somebody has looked at, and the deliveries of theirs that go on.
  ///
  /// - Parameters:
  ///   - next: the next attempt of a delivery that has one.
  ///   - isOver: whether a delivery has ended.
  private static func looks(
    _ changes: [DeliveryChange], _ next: [Key: Next], isOver: (Key) -> Bool
  ) -> (seen: [EventId: Seen], opened: [Key: Next]) {
    var (seen, opened): ([EventId: Seen], [Key: Next]) = ([:], [:])
    for change in changes {
      guard let look = change.look else { continue }
      let event = change.eventId
      var known =
        seen[event]
        ?? Seen(
          event: event, publisher: change.publisherId, topic: change.topic, environment: look.environment,
          endpoints: [])
      known.revision = [known.revision, look.revision].compactMap { $0 }.max()
      known.endpoints.formUnion(look.endpoints)
      seen[event] = known
      for endpoint in look.endpoints {
        let key = Key(event: event, endpoint: endpoint, round: .first)
        guard !isOver(key) else { continue }
        opened[key] = next[key] ?? Next(publisher: change.publisherId, attempt: 1)
      }
    }
    return (seen, opened)
  }

  /// The endpoints that the looks missed, by event.
  ///
  /// - Parameter written: the keys of the rows that the commit has written for the looks.
  func missed(_ written: [Key]) -> [EventId: [EndpointId]] {
    let known = Dictionary(uniqueKeysWithValues: seen.map { ($0.event, $0.endpoints) })
    var missed: [EventId: [EndpointId]] = [:]
    for row in written where known[row.event]?.contains(row.endpoint) == false {
      missed[row.event, default: []].append(row.endpoint)
    }
    return missed
  }
}
