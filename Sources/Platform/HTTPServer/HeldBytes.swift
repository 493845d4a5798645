/// The bytes of bodies by who holds them: a sender's, of these a network's, and of these an address'.
///
/// Each question takes a step for each party that it compares, however many bodies there are.
struct HeldBytes {
  /// One who holds bytes.
  enum Party: Hashable {
    case sender(HTTPServer.LargeBody.Sender?)
    case group(AddressGroup)
  }

  /// Of all bodies.
  private(set) var bytes = 0
  /// Of the bodies that still arrive. Only they can be taken away.
  private var arriving = 0
  private var parties: [Party: HeldBytes] = [:]
  /// At the end of a path: the bodies that still arrive.
  private var bodies: Set<Int> = []

  /// Counts bytes of a body, or gives them back.
  ///
  /// - Parameters:
  ///   - change: how the number of bytes changes that can be taken away.
  ///   - path: the body's parties.
  mutating func count(_ count: Int, arriving change: Int, of id: Int, _ path: ArraySlice<Party>) {
    bytes += count
    arriving += change
    guard let party = path.first else {
      if change > 0 { bodies.insert(id) } else if change < 0 { bodies.remove(id) }
      return
    }
    parties[party, default: HeldBytes()].count(count, arriving: change, of: id, path.dropFirst())
    if parties[party]?.bytes == 0 { parties[party] = nil }
  }

  /// The bodies that must make room for further bytes of a body; `nil` if nobody who has any holds more.
  ///
  /// Of the parties beside each other, the one that holds most gives way, if it holds more than the body's own. If
  /// none does, the same goes for the parties within its own.
  ///
  /// - Parameter own: the body's parties.
  func victims(for bytes: Int, of own: ArraySlice<Party>) -> Set<Int>? {
    guard let party = own.first else { return nil }
    let rival = greatest(beside: party)
    if let rival, rival.bytes > (parties[party]?.bytes ?? 0) + bytes { return rival.victims }
    return parties[party]?.victims(for: bytes, of: own.dropFirst())
  }

  private var victims: Set<Int> { greatest(beside: nil)?.victims ?? bodies }

  private func greatest(beside own: Party?) -> HeldBytes? {
    var found: HeldBytes?
    for (party, held) in parties where party != own && held.arriving > 0 && held.bytes > found?.bytes ?? 0 {
      found = held
    }
    return found
  }

  // MARK: A part of it

  /// What some senders hold.
  func only(_ senders: [HTTPServer.LargeBody.Sender]) -> HeldBytes {
    var part = HeldBytes()
    for sender in senders { part.parties[.sender(sender)] = parties[.sender(sender)] }
    return part
  }

  /// What a network or an address holds, by its senders.
  ///
  /// - Parameter path: the network, and perhaps the address.
  func within(_ path: [AddressGroup]) -> HeldBytes {
    var part = HeldBytes()
    part.parties = parties.compactMapValues { $0.narrowed(to: path[...]) }
    return part
  }

  private func narrowed(to path: ArraySlice<AddressGroup>) -> HeldBytes? {
    guard let group = path.first else { return self }
    guard let held = parties[.group(group)]?.narrowed(to: path.dropFirst()) else { return nil }
    var part = HeldBytes()
    (part.bytes, part.arriving, part.parties) = (held.bytes, held.arriving, [.group(group): held])
    return part
  }
}
