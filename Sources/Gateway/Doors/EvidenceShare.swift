import Domain
import HTTPServer

/// What somebody has of the line of texts: as a whole, and by the parties within, which take turns.
///
/// The whole line is the outermost of them. It has publishers, a publisher has networks, and a network has addresses.
/// Each question takes a step for each party that it compares, however many texts there are.
struct EvidenceShare {
  /// Somebody who has texts in the line.
  enum Party: Hashable {
    case publisher(PublisherId)
    case network(AddressGroup)
    case address(AddressGroup)
  }

  /// Texts, and their bytes.
  struct Load: Equatable {
    var texts = 0
    var bytes = 0
  }

  /// What is compared: the texts, or their bytes.
  typealias Measure = KeyPath<Load, Int>

  /// What waits or is read.
  private(set) var load = Load()
  /// How many texts wait.
  private(set) var waiting = 0
  private var parties: [Party: EvidenceShare] = [:]
  /// The parties of which a text waits. The first one's turn is next.
  private var turns: [Party] = []
  /// The texts of an address that wait, the oldest first.
  private var line: [Int] = []

  // MARK: Coming and going

  /// Counts a text.
  ///
  /// - Parameters:
  ///   - id: the text, if it waits; `nil` if it is read already.
  ///   - path: the parties that it belongs to.
  mutating func add(_ added: Load, waiting id: Int?, _ path: ArraySlice<Party>) {
    load.texts += added.texts
    load.bytes += added.bytes
    if id != nil { waiting += 1 }
    guard let party = path.first else {
      if let id { line.append(id) }
      return
    }
    if id != nil, parties[party]?.waiting ?? 0 == 0 { turns.append(party) }
    parties[party, default: EvidenceShare()].add(added, waiting: id, path.dropFirst())
  }

  /// Gives back what a text has taken that no longer waits.
  mutating func remove(_ removed: Load, _ path: ArraySlice<Party>) {
    load.texts -= removed.texts
    load.bytes -= removed.bytes
    guard let party = path.first else { return }
    parties[party]?.remove(removed, path.dropFirst())
    if parties[party]?.load.texts == 0 { parties[party] = nil }
  }

  /// Takes a text that waits out of the line, and gives back what it has taken.
  mutating func withdraw(_ id: Int, _ removed: Load, _ path: ArraySlice<Party>) {
    leave(id, path)
    remove(removed, path)
  }

  private mutating func leave(_ id: Int, _ path: ArraySlice<Party>) {
    waiting -= 1
    guard let party = path.first else {
      line.removeAll { $0 == id }
      return
    }
    parties[party]?.leave(id, path.dropFirst())
    if parties[party]?.waiting == 0 { turns.removeAll { $0 == party } }
  }

  /// Takes the text whose turn it is out of the line; `nil` if none waits. It counts on, because it is read now.
  mutating func takeNext() -> Int? {
    guard waiting > 0 else { return nil }
    waiting -= 1
    guard !turns.isEmpty else { return line.removeFirst() }
    let party = turns.removeFirst()
    let id = parties[party]?.takeNext()
    if parties[party]?.waiting ?? 0 > 0 { turns.append(party) }
    return id
  }

  // MARK: Giving way

  /// What a party has.
  ///
  /// - Parameter path: the parties down to this one; empty for the whole.
  func load(at path: ArraySlice<Party>) -> Load {
    guard let party = path.first else { return load }
    return parties[party]?.load(at: path.dropFirst()) ?? Load()
  }

  /// The text that must make room for another one; `nil` if nobody who has one in the line has more than the other's
  /// sender would have.
  ///
  /// Of the parties beside each other, the one that has most gives way, with its newest text. If none has more than the
  /// sender's own, the same goes for the parties within its own.
  ///
  /// - Parameters:
  ///   - depth: only parties within such a part of the path give way: 0 for the whole.
  ///   - own: the parties that the other text belongs to.
  func victim(within depth: Int, beside own: ArraySlice<Party>, adding added: Load, _ measure: Measure) -> Int? {
    guard let party = own.first else { return nil }
    if depth == 0, let rival = greatest(measure, beside: party),
      rival.load[keyPath: measure] > (parties[party]?.load[keyPath: measure] ?? 0) + added[keyPath: measure]
    {
      return rival.newest(measure)
    }
    return parties[party]?.victim(within: max(0, depth - 1), beside: own.dropFirst(), adding: added, measure)
  }

  private func newest(_ measure: Measure) -> Int? { greatest(measure, beside: nil)?.newest(measure) ?? line.last }

  private func greatest(_ measure: Measure, beside own: Party?) -> EvidenceShare? {
    var found: EvidenceShare?
    for (party, share) in parties where party != own && share.waiting > 0 {
      if share.load[keyPath: measure] > found?.load[keyPath: measure] ?? 0 { found = share }
    }
    return found
  }
}
