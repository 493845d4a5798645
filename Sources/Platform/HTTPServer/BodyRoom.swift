/// The memory of large bodies: who holds how much of it, and who gives way. They are bodies of requests, which arrive,
/// or bodies of answers, until their clients have read them.
///
/// The whole has a limit, and so has each part of it: a publisher's, its apps', a network's, and an address'. Whoever
/// needs more than such a limit leaves takes it from those who hold most of this very part, ``HeldBytes``. So one who
/// holds little always gets in, and one who holds most is refused.
struct BodyRoom {
  /// The most bytes of all bodies, and of each part of them.
  struct Limits {
    /// The part of a publisher's share that its apps can have. The rest is for its backends: an app's credential is in
    /// every copy of the app.
    static let appsPart = 0.75

    var capacity: Int
    var perPublisher: Int
    /// Of all apps of a publisher.
    var perApps: Int
    /// Of the 48 bits around an IPv6 address: whoever has them has 65,536 networks that count as addresses.
    var perNetwork: Int
    var perAddress: Int

    /// - Parameter shares: of the capacity, from 0 to 1.
    init(capacity: Int, shares: HTTPServer.LargeBody.Shares) {
      self.capacity = capacity
      perPublisher = Self.part(shares.ofPublisher, of: capacity)
      perApps = Int(Self.appsPart * Double(min(perPublisher, capacity)))
      perAddress = Self.part(shares.ofAddress, of: capacity)
      perNetwork = Self.part(2 * shares.ofAddress, of: capacity)
    }

    private static func part(_ share: Double, of capacity: Int) -> Int {
      share < 1 ? Int(max(0, share) * Double(capacity)) : .max
    }
  }

  /// What comes of further bytes.
  enum Verdict: Equatable {
    /// - Parameter cutting: the bodies that give way. Their bytes no longer count.
    case taken(cutting: [Int])
    case refused(HTTPServer.BodyRefusalCause)
  }

  /// A part of the room that has a limit.
  private enum Part: Hashable {
    case address(AddressGroup)
    case network(AddressGroup)
    case apps(String)
    case publisher(String)
    case room
  }

  private struct Body {
    let sender: HTTPServer.LargeBody.Sender?
    let address: AddressGroup
    let parts: [Part]
    let path: [HeldBytes.Party]
    var bytes = 0
    /// Whether the body still arrives. One that a handler has is not taken away.
    var isArriving = true

    init(sender: HTTPServer.LargeBody.Sender?, address: AddressGroup) {
      (self.sender, self.address) = (sender, address)
      var parts = [Part.address(address), .network(address.wide)]
      if let sender {
        if sender.credential == .app { parts.append(.apps(sender.publisher)) }
        parts.append(.publisher(sender.publisher))
      }
      self.parts = parts + [.room]
      path = [.sender(sender), .group(address.wide), .group(address)]
    }
  }

  private let limits: Limits
  private var bodies: [Int: Body] = [:]
  private var bytes: [Part: Int] = [:]
  private var parties = HeldBytes()
  /// The bytes of all bodies.
  var held: Int { parties.bytes }

  /// The most bytes of one body: the least share that it has.
  var mostOfOne: Int { min(limits.perAddress, limits.perNetwork, limits.capacity) }

  init(_ limits: Limits) { self.limits = limits }

  /// Begins a body without bytes. A body that has the id already ends.
  ///
  /// - Parameter sender: whose credential the request has; `nil` where anybody may send it.
  mutating func begin(_ id: Int, sender: HTTPServer.LargeBody.Sender?, address: AddressGroup) {
    end(id)
    bodies[id] = Body(sender: sender, address: address)
  }

  /// Decides on further bytes of a body, and counts them if they are taken.
  mutating func take(_ count: Int, for id: Int) -> Verdict {
    guard let body = bodies[id] else { return .refused(.room) }
    var cut: [(id: Int, body: Body)] = []
    for part in body.parts {
      let (most, cause) = limit(of: part)
      while bytes[part, default: 0] + count > most {
        guard let victim = victim(in: part, for: count, of: body), let lost = bodies[victim] else {
          for (id, body) in cut { restore(body, id) }
          return .refused(cause)
        }
        cut.append((victim, lost))
        end(victim)
      }
    }
    bodies[id]?.bytes += count
    self.count(count, arriving: count, of: id, body)
    return .taken(cutting: cut.map(\.id))
  }

  /// Notes that a body is complete.
  mutating func arrived(_ id: Int) {
    guard let body = bodies[id], body.isArriving else { return }
    bodies[id]?.isArriving = false
    count(0, arriving: -body.bytes, of: id, body)
  }

  /// Frees a body's room. A second call does nothing.
  mutating func end(_ id: Int) {
    guard let body = bodies.removeValue(forKey: id) else { return }
    count(-body.bytes, arriving: body.isArriving ? -body.bytes : 0, of: id, body)
  }

  private mutating func restore(_ body: Body, _ id: Int) {
    bodies[id] = body
    count(body.bytes, arriving: body.bytes, of: id, body)
  }

  private mutating func count(_ count: Int, arriving: Int, of id: Int, _ body: Body) {
    parties.count(count, arriving: arriving, of: id, body.path[...])
    for part in body.parts {
      let now = bytes[part, default: 0] + count
      bytes[part] = now > 0 ? now : nil
    }
  }

  private func limit(of part: Part) -> (most: Int, cause: HTTPServer.BodyRefusalCause) {
    switch part {
    case .address: (limits.perAddress, .addressShare)
    case .network: (limits.perNetwork, .addressShare)
    case .apps: (limits.perApps, .publisherShare)
    case .publisher: (limits.perPublisher, .publisherShare)
    case .room: (limits.capacity, .room)
    }
  }

  /// The largest body of whoever gives way within a part.
  private func victim(in part: Part, for count: Int, of body: Body) -> Int? {
    let held =
      switch part {
      case .address(let address): parties.within([address.wide, address])
      case .network(let network): parties.within([network])
      case .apps(let publisher): parties.only([.init(publisher: publisher, credential: .app)])
      case .publisher(let publisher):
        parties.only(HTTPServer.LargeBody.Credential.allCases.map { .init(publisher: publisher, credential: $0) })
      case .room: parties
      }
    return held.victims(for: count, of: body.path[...])?.max { one, other in
      let (few, many) = (bodies[one]?.bytes ?? 0, bodies[other]?.bytes ?? 0)
      return (few, other) < (many, one)
    }
  }
}
