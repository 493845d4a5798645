/// The memory in which large bodies arrive: who holds how much of it, and who gives way.
struct BodyRoom {
  /// The most bytes of all bodies, of one holder's, and of one address'.
  struct Limits {
    var capacity: Int
    var perHolder: Int
    var perAddress: Int

    /// - Parameter shares: of the capacity, from 0 to 1.
    init(capacity: Int, shares: HTTPServer.LargeBody.Shares) {
      self.capacity = capacity
      perHolder = Self.part(shares.ofHolder, of: capacity)
      perAddress = Self.part(shares.ofAddress, of: capacity)
    }

    private static func part(_ share: Double, of capacity: Int) -> Int {
      share < 1 ? Int(max(0, share) * Double(capacity)) : .max
    }
  }

  /// What comes of further bytes.
  enum Verdict: Equatable {
    /// - Parameter cutting: the bodies that give way. Their bytes count no more.
    case taken(cutting: [Int])
    case refused(HTTPServer.BodyRefusalCause)
  }

  private enum Party: Hashable {
    case holder(String)
    case address(AddressGroup)
  }

  private struct Body {
    let holder: String?
    let address: AddressGroup
    var bytes = 0
    /// Whether the body still arrives. One that a handler has is not taken away.
    var isArriving = true

    var party: Party { holder.map(Party.holder) ?? .address(address) }
  }

  private let limits: Limits
  private var bodies: [Int: Body] = [:]
  private var byHolder: [String: Int] = [:]
  private var byAddress: [AddressGroup: Int] = [:]
  /// The bytes of all bodies.
  private(set) var held = 0

  init(_ limits: Limits) { self.limits = limits }

  /// Begins a body without bytes. A body that has the id already ends.
  ///
  /// - Parameter holder: whose credential the request has; `nil` where anybody may send it.
  mutating func begin(_ id: Int, holder: String?, address: AddressGroup) {
    end(id)
    bodies[id] = Body(holder: holder, address: address)
  }

  /// Decides on further bytes of a body, and counts them if they are taken.
  mutating func take(_ bytes: Int, for id: Int) -> Verdict {
    guard let body = bodies[id] else { return .refused(.room) }
    if byAddress[body.address, default: 0] + bytes > limits.perAddress { return .refused(.addressShare) }
    if let holder = body.holder, byHolder[holder, default: 0] + bytes > limits.perHolder {
      return .refused(.holderShare)
    }
    var cut: [Int] = []
    if held + bytes > limits.capacity {
      guard let victims = victims(for: bytes, of: body.party) else { return .refused(.room) }
      cut = victims
      for victim in victims { end(victim) }
    }
    bodies[id]?.bytes += bytes
    count(bytes, of: body)
    return .taken(cutting: cut)
  }

  /// Notes that a body is complete.
  mutating func arrived(_ id: Int) { bodies[id]?.isArriving = false }

  /// Frees a body's room. A second call does nothing.
  mutating func end(_ id: Int) {
    if let body = bodies.removeValue(forKey: id) { count(-body.bytes, of: body) }
  }

  private mutating func count(_ bytes: Int, of body: Body) {
    held += bytes
    let ofAddress = byAddress[body.address, default: 0] + bytes
    byAddress[body.address] = ofAddress > 0 ? ofAddress : nil
    guard let holder = body.holder else { return }
    let ofHolder = byHolder[holder, default: 0] + bytes
    byHolder[holder] = ofHolder > 0 ? ofHolder : nil
  }

  /// The bodies that make room for further bytes of a party; `nil` if nobody who holds more than this party has enough.
  ///
  /// Who holds most gives way first, with the largest body first.
  private func victims(for bytes: Int, of party: Party) -> [Int]? {
    var totals: [Party: Int] = [:]
    for body in bodies.values { totals[body.party, default: 0] += body.bytes }
    let own = totals[party, default: 0] + bytes
    var missing = held + bytes - limits.capacity
    var found: [Int] = []
    for (rival, total) in totals.sorted(by: { $0.value > $1.value }) where rival != party && total > own {
      let arriving = bodies.filter { $0.value.party == rival && $0.value.isArriving && $0.value.bytes > 0 }
      for (id, body) in arriving.sorted(by: { ($0.value.bytes, $1.key) > ($1.value.bytes, $0.key) }) {
        if missing <= 0 { return found }
        found.append(id)
        missing -= body.bytes
      }
    }
    return missing <= 0 ? found : nil
  }
}
