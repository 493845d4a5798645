import Domain
import HTTPServer

/// Whose text is read next, and who may not wait.
///
/// The publishers take turns, within a publisher the networks of its clients, and within a network their addresses;
/// of an address, the oldest text comes first. For example, one address has 500 receipts in the line with the key that
/// is in every copy of an app. A receipt of another publisher comes along, and is read next but one.
///
/// The line has an end, in texts and in bytes, and so has the part of each of them. Whoever needs more than such a
/// limit leaves takes it from whoever holds most of this very part: its newest text no longer waits. So one who holds
/// little always gets in, and one who holds most is refused.
struct EvidenceTurns {
  /// Whose a text is.
  struct Source {
    let publisher: PublisherId
    /// The client's address. All clients whose address is not known are one.
    let address: AddressGroup

    /// The parties that the text belongs to, each one within the one before.
    fileprivate var path: [EvidenceShare.Party] {
      [.publisher(publisher), .network(address.wide), .address(address)]
    }
  }

  /// The limits of a line.
  struct Limits {
    /// How many texts are read at a time.
    var atOnce: Int
    /// The most texts that wait or are read, and their bytes.
    var most = EvidenceShare.Load(texts: 2048, bytes: 64 << 20)

    /// The most of a part of the line: three quarters for a publisher, half for a network, a quarter for an address.
    ///
    /// - Parameter depth: 0 for the whole, 1 for a publisher, and so on.
    fileprivate func most(at depth: Int) -> EvidenceShare.Load {
      EvidenceShare.Load(texts: most.texts * (4 - depth) / 4, bytes: most.bytes * (4 - depth) / 4)
    }
  }

  /// Why a text is not read.
  enum Refusal: String, CaseIterable {
    /// The line is full, and its sender holds most of it.
    case full
    /// The publisher has all of the line that it can have, and this sender holds most of it.
    case publisherShare = "publisher_share"
    /// The address, or its network, has all of the line that it can have.
    case addressShare = "address_share"
    /// It waited, and its sender held most when another one needed its place.
    case gaveWay = "gave_way"
  }

  /// What becomes of a new text.
  enum Verdict: Equatable {
    /// It is read now.
    case reads
    /// - Parameter refusing: the texts that give way to it.
    case waits(refusing: [Int])
    case refused(Refusal)
  }

  private struct Text {
    let path: [EvidenceShare.Party]
    let load: EvidenceShare.Load
  }

  private let limits: Limits
  private var texts: [Int: Text] = [:]
  private var held = EvidenceShare()
  private var reading = 0
  /// How many texts wait.
  var waiting: Int { held.waiting }

  init(_ limits: Limits) { self.limits = limits }

  /// Decides on a new text.
  ///
  /// - Parameters:
  ///   - id: names the text until ``end(_:)``. No other text has it.
  ///   - bytes: of the text.
  mutating func add(_ id: Int, bytes: Int, of source: Source) -> Verdict {
    let text = Text(path: source.path, load: EvidenceShare.Load(texts: 1, bytes: bytes))
    var refused: [Int] = []
    if overfull(by: text) != nil {
      // Nobody gives way for a text that is refused all the same.
      var other = self
      while let (depth, measure) = other.overfull(by: text) {
        guard let victim = other.held.victim(within: depth, beside: text.path[...], adding: text.load, measure) else {
          return .refused(Self.refusal(at: depth))
        }
        other.withdraw(victim)
        refused.append(victim)
      }
      self = other
    }
    texts[id] = text
    let isRead = reading < limits.atOnce
    if isRead { reading += 1 }
    held.add(text.load, waiting: isRead ? nil : id, text.path[...])
    return isRead ? .reads : .waits(refusing: refused)
  }

  /// Ends a text that was read. A second call does nothing.
  ///
  /// - Returns: the text that is read now in its place; `nil` if none waits.
  mutating func end(_ id: Int) -> Int? {
    guard let text = texts.removeValue(forKey: id) else { return nil }
    held.remove(text.load, text.path[...])
    guard let next = held.takeNext() else {
      reading -= 1
      return nil
    }
    return next
  }

  private mutating func withdraw(_ id: Int) {
    guard let text = texts.removeValue(forKey: id) else { return }
    held.withdraw(id, text.load, text.path[...])
  }

  /// The outermost part that a text does not fit in, and what it has too much of; `nil` if it fits.
  private func overfull(by text: Text) -> (depth: Int, EvidenceShare.Measure)? {
    for depth in 0...text.path.count {
      let (load, most) = (held.load(at: text.path.prefix(depth)), limits.most(at: depth))
      if load.texts + text.load.texts > most.texts { return (depth, \.texts) }
      if load.bytes + text.load.bytes > most.bytes { return (depth, \.bytes) }
    }
    return nil
  }

  private static func refusal(at depth: Int) -> Refusal {
    switch depth {
    case 0: .full
    case 1: .publisherShare
    default: .addressShare
    }
  }
}
