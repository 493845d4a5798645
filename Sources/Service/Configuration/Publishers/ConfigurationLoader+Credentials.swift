import Domain
import Formats

extension ConfigurationLoader {
  /// The credentials that two publishers have in common. With one of these, one publisher could act for the other.
  static func sharedCredentials(of publishers: [Publisher], _ folder: String) -> [Mistake] {
    func shared<Value: Hashable>(_ key: String, _ values: (Publisher) -> [Value]) -> [Mistake] {
      let held = publishers.flatMap { publisher in values(publisher).map { (value: $0, publisher: publisher.id) } }
      let holders = Dictionary(grouping: held, by: \.value).values.map { Set($0.map(\.publisher)).sorted() }
      return Set(holders.filter { $0.count > 1 }).sorted { $0.lexicographicallyPrecedes($1) }.map { ids in
        let names = ids.map(String.init).joined(separator: " and ")
        return Mistake(source: folder, key: key, problem: "publishers \(names) have one in common")
      }
    }
    return shared("tokenHashes") { $0.tokens.map(\.hash) }
      + shared("doors.iaptic.appName") { $0.doors.iaptic.map { [$0.appName.exact] } ?? [] }
      + shared("doors.mbaasy.clientTokens") { $0.doors.mbaasy?.clientTokens.map(\.hash) ?? [] }
  }
}
