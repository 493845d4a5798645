/// Who has a place among the connections of a server, how long each may take, and who gives way.
///
/// The server tells what happens and does what is decided here. Times are those of a clock that is never set back.
struct ConnectionPlaces {
  /// What a connection does now.
  enum Phase: Equatable {
    /// The first head, or one whose request line is there, has not arrived as a whole.
    case head
    /// The last request is answered. The next head may have begun: libmicrohttpd tells of it with its request line.
    case idle
    case body(received: Int)
    /// The handler works. Only the handler ends this phase.
    case running
    case answering(bytes: Int)
  }

  /// The limits of a server.
  struct Limits {
    var most = 4096
    /// Connections of one address, and requests in flight of an address that a proxy names.
    var perAddress = Int.max
    /// The same of the 48 bits around an IPv6 address: whoever has them has 65,536 networks that count as addresses.
    var perNetwork: Int { perAddress > Int.max / 2 ? .max : 2 * perAddress }
    var headTime = Duration.seconds(10)
    var bodyTime = Duration.seconds(60)
    var idleTime = Duration.seconds(30)
    /// Bytes a second of a body or of an answer, once the time for a head has passed.
    var leastPace = 1024
    /// How long a connection is safe after it has come, and after each whole request of its own. A connection of a
    /// network that holds much more than the newcomer's is not.
    var grace = Duration.seconds(1)
    /// The last places are for networks that hold none, while another holds more than a few.
    var kept: Int { most / 64 }
  }

  /// A connection that must end, and why.
  struct Cut: Equatable {
    let id: Int
    let cause: HTTPServer.CutCause
  }

  /// What comes of a new connection.
  enum Admission: Equatable {
    /// - Parameter cutting: the connection that gives way.
    case admitted(Int, cutting: Cut?)
    case refused(HTTPServer.CutCause)
  }

  private struct Place {
    let address: AddressGroup
    let isProxy: Bool
    var phase: Phase
    /// When it entered its phase.
    var entered: Duration
    /// When its grace began. Only a whole request begins it anew: who sends a piece of a head or of a body within each
    /// grace would never have to go.
    var since: Duration
    /// The client that the proxy names, while its request is in flight.
    var client: AddressGroup?

    /// The network that holds the place; `nil` for a proxy's without a request.
    var holder: AddressGroup? { isProxy ? client?.wide : address.wide }
  }

  private let limits: Limits
  private var places: [Int: Place] = [:]
  /// The connections of each address and of each network, but not those of proxies.
  private var byGroup: [AddressGroup: Set<Int>] = [:]
  /// Requests in flight by the client that a proxy names, and by its network.
  private var byClient: [AddressGroup: Int] = [:]
  /// Who gives way among the connections of a group, and among all of them.
  private var orders: [AddressGroup: EvictionOrder] = [:]
  private var order: EvictionOrder?
  /// How much each network holds, and who of the largest ones gives way at once.
  private var crowds = Crowds()
  private var crowdOrder: CrowdOrder?
  private var next = 0
  /// How many connections have a place.
  var count: Int { places.count }

  init(_ limits: Limits) { self.limits = limits }

  // MARK: Coming and going

  /// Whether a newcomer may find a place now: a free one, or that of a connection that gives way.
  mutating func hasPlace(at now: Duration) -> Bool {
    places.count < limits.most || crowdVictim(beside: 0, at: now) != nil || victim(at: now) != nil
  }

  /// Decides on a new connection.
  ///
  /// When places are out, it counts who holds most. A newcomer takes a place of a network that holds much more than its
  /// own, at once. If there is none, whoever does least gives way after its grace, unless its network holds much less
  /// than the newcomer's. It costs a few steps, however many connections there are: ``EvictionOrder``, ``CrowdOrder``.
  ///
  /// - Parameter isProxy: whether the address is a listed proxy's, which brings many clients and so has no share.
  mutating func admit(_ address: AddressGroup, isProxy: Bool, now: Duration) -> Admission {
    var cut: Cut?
    if !isProxy, let full = limited(address).first(where: { byGroup[$0.group, default: []].count >= $0.most })?.group {
      // The group makes room for itself, or stays outside. So a client beside a stranger behind one address gets in.
      guard let id = victim(in: full, at: now) else { return .refused(.addressShare) }
      cut = Cut(id: id, cause: .addressShare)
    } else if places.count >= limits.most || isCrowded {
      let own = isProxy ? 0 : crowds.count(of: address.wide)
      if let id = crowdVictim(beside: own, at: now) {
        cut = Cut(id: id, cause: .places)
      } else if own > 0 || places.count >= limits.most {
        guard let id = victim(at: now, beside: own) else { return .refused(.places) }
        cut = Cut(id: id, cause: .places)
      }
    }
    if let cut { remove(cut.id) }
    let id = next
    next += 1
    places[id] = Place(address: address, isProxy: isProxy, phase: .head, entered: now, since: now)
    if !isProxy {
      for (group, _) in limited(address) { byGroup[group, default: []].insert(id) }
      crowds.add(address.wide)
    }
    return .admitted(id, cutting: cut)
  }

  /// Whether only the kept places are free, and some network holds more than a few.
  private var isCrowded: Bool { places.count >= limits.most - limits.kept && crowds.largest > Crowds.few }

  /// Takes a connection's place away. A second call does nothing.
  mutating func remove(_ id: Int) {
    guard let place = places.removeValue(forKey: id) else { return }
    if let client = place.client { endRequest(of: client) }
    guard !place.isProxy else { return }
    crowds.remove(place.address.wide)
    for (group, _) in limited(place.address) {
      byGroup[group]?.remove(id)
      if byGroup[group]?.isEmpty ?? true { (byGroup[group], orders[group]) = (nil, nil) }
    }
  }

  /// The groups of an address that have a limit, the narrow one first.
  private func limited(_ address: AddressGroup) -> [(group: AddressGroup, most: Int)] {
    let own = [(address, limits.perAddress)]
    return address.wide == address ? own : own + [(address.wide, limits.perNetwork)]
  }

  // MARK: Giving way

  /// Who gives way first: heads that do not come, then silent connections, then slow bodies and readers, and proxies
  /// last. A request that runs never does.
  ///
  /// Of each kind, it is the oldest of the network that had most places when the order was made, at most a grace ago.
  ///
  /// - Parameter own: how many places the newcomer's network holds.
  private mutating func victim(at now: Duration, beside own: Int = 0) -> Int? {
    var order = self.order.take()
    defer { self.order = order }
    return victim(by: &order, among: places.keys, at: now, beside: own) { place in
      place.holder.map { crowds.count(of: $0) } ?? 0
    }
  }

  /// Who gives way first in a group: the same, but addresses count instead of networks.
  private mutating func victim(in group: AddressGroup, at now: Duration) -> Int? {
    var order = orders.removeValue(forKey: group)
    defer { orders[group] = order }
    return victim(by: &order, among: byGroup[group, default: []], at: now) { byGroup[$0.address, default: []].count }
  }

  private func victim(
    by order: inout EvictionOrder?, among ids: some Sequence<Int>, at now: Duration, beside own: Int = 0,
    crowd: (Place) -> Int
  ) -> Int? {
    if !(order?.isComplete(at: now) ?? false) {
      let candidates = ids.compactMap { id -> EvictionOrder.Candidate? in
        places[id].flatMap { Self.candidate(id, $0, crowd: crowd($0)) }
      }
      order = EvictionOrder(candidates, at: now, grace: limits.grace)
    }
    return order?.first(at: now, beside: own) { candidate in
      guard let place = places[candidate.id] else { return false }
      return place.since == candidate.since && Self.rank(place) != nil
    }
  }

  /// Who gives way at once: a connection of the largest network that holds much more than the newcomer's, and of which
  /// not all connections run.
  ///
  /// - Parameter own: how many places the newcomer's network holds.
  private mutating func crowdVictim(beside own: Int, at now: Duration) -> Int? {
    guard Crowds.isMuch(crowds.largest, beside: own) else { return nil }
    var order = crowdOrder.take()
    defer { crowdOrder = order }
    if let id = victim(by: &order, beside: own) { return id }
    guard order?.isOld(at: now) ?? true else { return nil }
    let candidates = places.compactMap { id, place in
      place.holder.flatMap { network in
        Self.candidate(id, place, crowd: 0).map { (network: network, candidate: $0) }
      }
    }
    order = CrowdOrder(candidates, at: now)
    return victim(by: &order, beside: own)
  }

  private func victim(by order: inout CrowdOrder?, beside own: Int) -> Int? {
    for crowd in crowds.ordered {
      guard Crowds.isMuch(crowd.count, beside: own) else { break }
      let found = order?.first(of: crowd.network) { id in
        guard let place = places[id] else { return false }
        return place.holder == crowd.network && Self.rank(place) != nil
      }
      if let found { return found }
    }
    return nil
  }

  /// Whether a connection ends behind the answer that it gets now: places are out, and its network is among those that
  /// hold most. So a request that runs ends, and its place goes to others.
  func endsBehindAnswer(_ id: Int) -> Bool {
    guard isCrowded, let holder = places[id]?.holder else { return false }
    let own = crowds.count(of: holder)
    return own > Crowds.few && !Crowds.isMuch(crowds.largest, beside: own)
  }

  private static func candidate(_ id: Int, _ place: Place, crowd: Int) -> EvictionOrder.Candidate? {
    rank(place).map { EvictionOrder.Candidate(id: id, rank: $0, crowd: crowd, since: place.since) }
  }

  private static func rank(_ place: Place) -> Int? {
    let rank: Int
    switch place.phase {
    case .head: rank = 0
    case .idle: rank = 2
    case .body: rank = 4
    case .answering: rank = 6
    case .running: return nil
    }
    return rank + (place.isProxy ? 1 : 0)
  }

  // MARK: Phases

  /// Whether a connection came from a listed proxy.
  func isProxy(_ id: Int) -> Bool { places[id]?.isProxy ?? false }

  /// Counts a request of a client that a proxy names, until the connection is idle again.
  ///
  /// - Returns: whether the client's share allows it.
  mutating func begin(_ id: Int, of client: AddressGroup) -> Bool {
    guard places[id] != nil, places[id]?.client == nil else { return true }
    guard limited(client).allSatisfy({ byClient[$0.group, default: 0] < $0.most }) else { return false }
    for (group, _) in limited(client) { byClient[group, default: 0] += 1 }
    places[id]?.client = client
    crowds.add(client.wide)
    return true
  }

  private mutating func endRequest(of client: AddressGroup) {
    crowds.remove(client.wide)
    for (group, _) in limited(client) {
      guard let count = byClient[group] else { continue }
      byClient[group] = count > 1 ? count - 1 : nil
    }
  }

  /// Notes what a connection does from now on.
  mutating func enter(_ phase: Phase, _ id: Int, now: Duration) {
    // One look-up, because this happens some five times a request.
    guard let index = places.index(forKey: id) else { return }
    places.values[index].phase = phase
    places.values[index].entered = now
    switch phase {
    case .head, .body: break
    case .running, .answering, .idle: places.values[index].since = now
    }
    guard phase == .idle, let client = places.values[index].client else { return }
    places.values[index].client = nil
    endRequest(of: client)
  }

  /// Counts bytes of a body.
  mutating func receive(_ bytes: Int, _ id: Int) {
    guard let index = places.index(forKey: id), case .body(let received) = places.values[index].phase else { return }
    places.values[index].phase = .body(received: received + bytes)
  }

  // MARK: Deadlines

  /// The connections whose time is over, and why.
  func overdue(at now: Duration) -> [Cut] {
    places.compactMap { id, place in cause(place, now).map { Cut(id: id, cause: $0) } }
  }

  private func cause(_ place: Place, _ now: Duration) -> HTTPServer.CutCause? {
    let age = now - place.entered
    switch place.phase {
    case .head: return age > limits.headTime ? .slowHead : nil
    // libmicrohttpd ends silence. A head that comes byte by byte is not silent, and gets its time on top.
    case .idle: return age > limits.idleTime + limits.headTime ? .slowHead : nil
    case .body(let received):
      return age > limits.bodyTime || age > limits.headTime + time(for: received) ? .slowBody : nil
    case .running: return nil
    case .answering(let bytes): return age > limits.idleTime + time(for: bytes) ? .slowReader : nil
    }
  }

  /// How long bytes take at the least pace.
  private func time(for bytes: Int) -> Duration { .seconds(max(0, bytes) / max(1, limits.leastPace)) }
}
