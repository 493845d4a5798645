import Formats
import Testing

@testable import HTTPServer

/// In which order connections give way, and what a newcomer costs.
struct EvictionOrderTests {
  private typealias Candidate = EvictionOrder.Candidate

  private func candidate(_ id: Int, rank: Int = 0, crowd: Int = 1, since second: Int = 0) -> Candidate {
    Candidate(id: id, rank: rank, crowd: crowd, since: .seconds(second))
  }

  @Test func `kinds come first, then crowds, then ages`() {
    let candidates = [
      candidate(1, rank: 2, crowd: 9), candidate(2, crowd: 1), candidate(3, crowd: 5, since: 2),
      candidate(4, crowd: 5, since: 1), candidate(5, crowd: 5, since: 1),
    ]
    var order = EvictionOrder(candidates, at: .seconds(10), grace: .seconds(1))
    var gone: Set<Int> = []
    var found: [Int] = []
    while let id = order.first(at: .seconds(10), where: { !gone.contains($0.id) }) {
      found.append(id)
      gone.insert(id)
    }
    #expect(found == [4, 5, 3, 2, 1])
  }

  @Test func `a crowd within its grace lets the next one go first, until it is over`() {
    let candidates = [candidate(1, crowd: 5, since: 9), candidate(2, crowd: 5, since: 10), candidate(3, since: 1)]
    var order = EvictionOrder(candidates, at: .seconds(9), grace: .seconds(2))
    #expect(order.first(at: .seconds(10)) { _ in true } == 3)
    #expect(order.first(at: .seconds(11)) { _ in true } == 1)
    #expect(order.first(at: .seconds(10)) { $0.id != 3 } == nil)
  }

  @Test func `nobody goes for a network that has much more`() {
    let candidates = [candidate(1, crowd: 5), candidate(2, rank: 2, crowd: 6)]
    var order = EvictionOrder(candidates, at: .seconds(10), grace: .seconds(1))
    #expect(order.first(at: .seconds(10), beside: 18) { _ in true } == 1)
    #expect(order.first(at: .seconds(10), beside: 19) { _ in true } == 2)
    #expect(order.first(at: .seconds(10), beside: 21) { _ in true } == nil)
    #expect(order.first(at: .seconds(10)) { _ in true } == 1)
  }

  @Test func `an order is complete for the grace`() {
    let order = EvictionOrder([], at: .seconds(5), grace: .seconds(1))
    #expect(order.isComplete(at: .milliseconds(5999)) && !order.isComplete(at: .seconds(6)))
    #expect(!EvictionOrder([], at: .seconds(5), grace: .zero).isComplete(at: .seconds(5)))
  }

  @Test func `a newcomer costs a few steps, however many places there are`() {
    let candidates = (0..<4096).map { candidate($0, crowd: 1 + $0 % 4) }
    var order = EvictionOrder(candidates, at: .seconds(10), grace: .seconds(1))
    var gone: Set<Int> = []
    var steps = 0
    for _ in 0..<4096 {
      let id = order.first(at: .seconds(10)) {
        steps += 1
        return !gone.contains($0.id)
      }
      if let id { gone.insert(id) }
    }
    // Each is looked at when it goes, and when it is found to be gone.
    #expect(gone.count == 4096 && steps <= 2 * 4096)
  }

  // MARK: Beside the plain definition

  /// What the server has been told of one connection.
  private struct Told {
    let address: AddressGroup
    let isProxy: Bool
    var rank: Int?
    var since: Duration
  }

  /// Who gives way, by looking at everybody each time. Kinds and crowds count as they were at most a grace ago.
  private struct Plain {
    let grace: Duration
    var told: [Int: Told] = [:]
    var crowds: [AddressGroup?: (at: Duration, of: [Int: (rank: Int, size: Int)])] = [:]

    func members(_ group: AddressGroup?) -> [Int: Told] {
      guard let group else { return told }
      return told.filter { !$0.value.isProxy && ($0.value.address == group || $0.value.address.wide == group) }
    }

    mutating func victim(in group: AddressGroup?, at now: Duration) -> Int? {
      let members = members(group)
      if crowds[group].map({ now - $0.at >= grace }) ?? true {
        crowds[group] = (
          now,
          members.compactMapValues { one in
            guard let rank = one.rank else { return nil }
            if group == nil, one.isProxy { return (rank, 0) }
            return (rank, self.members(group == nil ? one.address.wide : one.address).count)
          }
        )
      }
      let known = crowds[group]?.of ?? [:]
      // Whoever ran then is not in it.
      return members.filter { known[$0.key] != nil && $0.value.rank != nil && now - $0.value.since >= grace }
        .min {
          (known[$0.key]!.rank, -known[$0.key]!.size, $0.value.since, $0.key)
            < (known[$1.key]!.rank, -known[$1.key]!.size, $1.value.since, $1.key)
        }?.key
    }

    mutating func forgetEmpty(_ address: AddressGroup) {
      for group in [address, address.wide] where members(group).isEmpty { crowds[group] = nil }
    }
  }

  @Test(arguments: 1...30)
  func `whoever gives way is whom the plain definition names`(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    let limits = ConnectionPlaces.Limits(most: 12, perAddress: 3, grace: .milliseconds(seed % 3 * 500))
    var places = ConnectionPlaces(limits)
    var plain = Plain(grace: limits.grace)
    let addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"] + (1...6).map { "2001:db8:\($0 % 2):\($0)::1" }
    let phases: [(ConnectionPlaces.Phase, Int?)] = [
      (.head, 0), (.idle, 2), (.body(received: 0), 4), (.answering(bytes: 1), 6), (.running, nil),
    ]
    var (now, evictions) = (Duration.zero, 0)
    for _ in 0..<1000 {
      now += .milliseconds(Int.random(in: 0..<200, using: &random))
      let known = plain.told.keys.sorted().randomElement(using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0...5:
        let isProxy = Int.random(in: 0..<8, using: &random) == 0
        let address = AddressGroup(isProxy ? "10.0.0.1" : addresses.randomElement(using: &random))
        let limited = [(address, limits.perAddress), (address.wide, limits.perNetwork)]
        let full = isProxy ? nil : limited.first { plain.members($0.0).count >= $0.1 }?.0
        let mustCut = full != nil || plain.told.count >= limits.most
        let victim = mustCut ? plain.victim(in: full, at: now) : nil
        let cause = full == nil ? HTTPServer.CutCause.places : .addressShare
        let admission = places.admit(address, isProxy: isProxy, now: now)
        guard case .admitted(let id, let cut) = admission else {
          #expect(mustCut && victim == nil && admission == .refused(cause))
          continue
        }
        #expect(cut == victim.map { ConnectionPlaces.Cut(id: $0, cause: cause) } && mustCut == (cut != nil))
        if let victim, let gone = plain.told.removeValue(forKey: victim) {
          plain.forgetEmpty(gone.address)
          evictions += 1
        }
        plain.told[id] = Told(address: address, isProxy: isProxy, rank: isProxy ? 1 : 0, since: now)
      case 6:
        guard let known, let gone = plain.told.removeValue(forKey: known) else { continue }
        places.remove(known)
        plain.forgetEmpty(gone.address)
      default:
        guard let known, let isProxy = plain.told[known]?.isProxy else { continue }
        let (phase, rank) = phases.randomElement(using: &random)!
        places.enter(phase, known, now: now)
        plain.told[known]?.rank = rank.map { $0 + (isProxy ? 1 : 0) }
        switch phase {
        case .head, .body: break
        case .running, .answering, .idle: plain.told[known]?.since = now
        }
      }
      #expect(places.count == plain.told.count)
    }
    #expect(evictions > 50)
  }
}
