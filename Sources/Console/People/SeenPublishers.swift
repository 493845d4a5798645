import Domain

/// The publishers whose data a person of the console may see.
enum SeenPublishers: Sendable, Equatable {
  case all
  case only(Set<PublisherId>)

  func contains(_ publisher: PublisherId) -> Bool {
    switch self {
    case .all: true
    case .only(let ids): ids.contains(publisher)
    }
  }

  /// The only publisher; `nil` if there are more.
  var single: PublisherId? {
    guard case .only(let ids) = self, ids.count == 1 else { return nil }
    return ids.first
  }

  /// As the file of users has it: `*`, or ids with commas.
  var text: String {
    switch self {
    case .all: "*"
    case .only(let ids): ids.sorted().map(String.init).joined(separator: ",")
    }
  }

  /// Reads ``text``; `nil` for any other text.
  init?(_ text: String) {
    if text == "*" {
      self = .all
      return
    }
    let ids = text.split(separator: ",", omittingEmptySubsequences: false).map { PublisherId($0) }
    let known = ids.compactMap(\.self).filter { $0 > 0 }
    guard known.count == ids.count else { return nil }
    self = .only(Set(known))
  }
}
