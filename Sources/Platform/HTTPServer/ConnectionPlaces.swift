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
    /// A connection gives way to others only after so long in its phase.
    var grace = Duration.seconds(1)
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
    var since: Duration
    /// The client that the proxy names, while its request is in flight.
    var client: AddressGroup?
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
  private var next = 0
  /// How many connections have a place.
  var count: Int { places.count }

  init(_ limits: Limits) { self.limits = limits }

  // MARK: Coming and going

  /// Whether a newcomer finds a place now: a free one, or that of a connection that gives way.
  mutating func hasPlace(at now: Duration) -> Bool { places.count < limits.most || victim(at: now) != nil }

  /// Decides on a new connection.
  ///
  /// It costs a few steps, however many connections there are: ``EvictionOrder``.
  ///
  /// - Parameter isProxy: whether the address is a listed proxy's, which brings many clients and so has no share.
  mutating func admit(_ address: AddressGroup, isProxy: Bool, now: Duration) -> Admission {
    var cut: Cut?
    if !isProxy, let full = limited(address).first(where: { byGroup[$0.group, default: []].count >= $0.most })?.group {
      // The group makes room for itself, or stays outside. So a client beside a stranger behind one address gets in.
      guard let id = victim(in: full, at: now) else { return .refused(.addressShare) }
      cut = Cut(id: id, cause: .addressShare)
    } else if places.count >= limits.most {
      guard let id = victim(at: now) else { return .refused(.places) }
      cut = Cut(id: id, cause: .places)
    }
    if let cut { remove(cut.id) }
    let id = next
    next += 1
    places[id] = Place(address: address, isProxy: isProxy, phase: .head, since: now)
    if !isProxy { for (group, _) in limited(address) { byGroup[group, default: []].insert(id) } }
    return .admitted(id, cutting: cut)
  }

  /// Takes a connection's place away. A second call does nothing.
  mutating func remove(_ id: Int) {
    guard let place = places.removeValue(forKey: id) else { return }
    if let client = place.client { endRequest(of: client) }
    guard !place.isProxy else { return }
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
  private mutating func victim(at now: Duration) -> Int? {
    var order = self.order.take()
    defer { self.order = order }
    return victim(by: &order, among: places.keys, at: now) { place in
      place.isProxy ? 0 : byGroup[place.address.wide, default: []].count
    }
  }

  /// Who gives way first in a group: the same, but addresses count instead of networks.
  private mutating func victim(in group: AddressGroup, at now: Duration) -> Int? {
    var order = orders.removeValue(forKey: group)
    defer { orders[group] = order }
    return victim(by: &order, among: byGroup[group, default: []], at: now) { byGroup[$0.address, default: []].count }
  }

  private func victim(
    by order: inout EvictionOrder?, among ids: some Sequence<Int>, at now: Duration, crowd: (Place) -> Int
  ) -> Int? {
    if !(order?.isComplete(at: now) ?? false) {
      let candidates = ids.compactMap { id -> EvictionOrder.Candidate? in
        guard let place = places[id], let rank = Self.rank(place) else { return nil }
        return EvictionOrder.Candidate(id: id, rank: rank, crowd: crowd(place), since: place.since)
      }
      order = EvictionOrder(candidates, at: now, grace: limits.grace)
    }
    return order?.first(at: now) { candidate in
      guard let place = places[candidate.id] else { return false }
      return place.since == candidate.since && Self.rank(place) == candidate.rank
    }
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
    return true
  }

  private mutating func endRequest(of client: AddressGroup) {
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
    places.values[index].since = now
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
    let age = now - place.since
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
