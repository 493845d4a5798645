/// How many places each network holds, the largest first.
///
/// Each change takes the same few steps, however many networks there are: one that grows by one changes places with the
/// first of those that are as large as it was.
struct Crowds {
  /// A network, and how many places it holds.
  struct Crowd: Equatable {
    let network: AddressGroup
    fileprivate(set) var count: Int
  }

  /// All networks that hold a place, the largest first.
  private(set) var ordered: [Crowd] = []
  private var index: [AddressGroup: Int] = [:]
  /// How many networks hold more than so many places.
  private var larger: [Int] = [0]
  /// How many places the largest network holds.
  var largest: Int { ordered.first?.count ?? 0 }

  /// A network holds few places up to so many, and never has to give way at once.
  static let few = 8

  /// Whether a network holds so much more than another that the other one takes its places at once.
  static func isMuch(_ count: Int, beside other: Int) -> Bool { count > 2 * other + few }

  /// How many places a network holds.
  func count(of network: AddressGroup) -> Int { index[network].map { ordered[$0].count } ?? 0 }

  /// Notes that a network holds one place more.
  mutating func add(_ network: AddressGroup) {
    let place: Int
    if let known = index[network] {
      place = known
    } else {
      place = ordered.count
      ordered.append(Crowd(network: network, count: 0))
      index[network] = place
    }
    let count = ordered[place].count
    let first = larger[count]
    swap(place, first)
    ordered[first].count += 1
    larger[count] += 1
    if larger.count == count + 1 { larger.append(0) }
  }

  /// Notes that a network holds one place less.
  mutating func remove(_ network: AddressGroup) {
    guard let place = index[network] else { return }
    let count = ordered[place].count
    let last = larger[count - 1] - 1
    swap(place, last)
    ordered[last].count -= 1
    larger[count - 1] -= 1
    guard count == 1 else { return }
    ordered.removeLast()
    index[network] = nil
  }

  private mutating func swap(_ one: Int, _ other: Int) {
    guard one != other else { return }
    ordered.swapAt(one, other)
    index[ordered[one].network] = one
    index[ordered[other].network] = other
  }
}
