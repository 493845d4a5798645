import Crypto
import Domain
import Formats

/// A kind of credential that no two publishers may have in common: with it, one publisher could act for the other.
struct CredentialKind: Sendable {
  /// The key in the publisher's file.
  let key: String
  let values: @Sendable (Publisher) -> [ExactText]

  /// The tokens of the publishers' backends.
  static let tokens = CredentialKind(key: "tokenHashes") { $0.tokens.map { ExactText(Hex.encode($0.hash)) } }

  /// All kinds of a build.
  static func all(_ doors: [any ConfiguredDoor]) -> [CredentialKind] {
    [tokens]
      + doors.flatMap { door in
        door.credentials.map { credential in
          CredentialKind(key: "\(door.key).\(credential.key)", values: credential.values)
        }
      }
  }

  /// Publishers that have a credential in common.
  struct Clash: Equatable {
    let key: String
    /// In ascending order.
    let publishers: [PublisherId]
    /// The only one of them that has had the credential before; `nil` if none had.
    let owner: PublisherId?

    /// The mistake of each of them that is not the owner.
    func mistake(in folder: String) -> Mistake {
      let names = publishers.map(String.init).joined(separator: " and ")
      return Mistake(source: folder, key: key, problem: "publishers \(names) have one in common")
    }
  }

  /// Finds the credentials that several publishers have.
  ///
  /// - Parameter old: the publisher as it is in use.
  func clashes(of publishers: [Publisher], before old: (PublisherId) -> Publisher?) -> [Clash] {
    var first: [ExactText: PublisherId] = [:]
    var several: [ExactText: Set<PublisherId>] = [:]
    for publisher in publishers {
      for value in values(publisher) {
        let holder = first[value] ?? publisher.id
        first[value] = holder
        if holder != publisher.id { several[value, default: [holder]].insert(publisher.id) }
      }
    }
    let clashes = several.map { value, ids in
      let owners = ids.filter { old($0).map(values)?.contains(value) == true }
      return Clash(key: key, publishers: ids.sorted(), owner: owners.count == 1 ? owners.first : nil)
    }
    return clashes.sorted { $0.publishers.lexicographicallyPrecedes($1.publishers) }
  }
}
