import Domain

extension ConfigurationLoader {
  /// The credentials that two publishers have in common. With one of these, one publisher could act for the other.
  func sharedCredentials(of publishers: [Publisher], _ folder: String) -> [Mistake] {
    func shared<Value: Hashable>(_ key: String, _ values: (Publisher) -> [Value]) -> [Mistake] {
      let held = publishers.flatMap { publisher in values(publisher).map { (value: $0, publisher: publisher.id) } }
      let holders = Dictionary(grouping: held, by: \.value).values.map { Set($0.map(\.publisher)).sorted() }
      return Set(holders.filter { $0.count > 1 }).sorted { $0.lexicographicallyPrecedes($1) }.map { ids in
        let names = ids.map(String.init).joined(separator: " and ")
        return Mistake(source: folder, key: key, problem: "publishers \(names) have one in common")
      }
    }
    return shared("tokenHashes") { $0.tokens.map(\.hash) }
      + doors.flatMap { door in
        door.credentials.flatMap { shared("\(door.key).\($0.key)", $0.values) }
      }
  }
}
