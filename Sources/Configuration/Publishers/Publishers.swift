/// All publishers of one folder, as of one reading.
public struct Publishers: Sendable {
  /// In the order of their ids.
  public let all: [Publisher]
  private let byId: [Int64: Publisher]

  /// Creates the set; ids are unique.
  public init(_ all: [Publisher]) {
    self.all = all.sorted { $0.id < $1.id }
    byId = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
  }

  /// Returns the publisher with an id.
  public subscript(id: Int64) -> Publisher? { byId[id] }
}
