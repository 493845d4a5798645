public import Domain
import Formats

/// The publishers' files of one folder, as of one reading. A file with a mistake is one of them.
public struct PublisherFolder: Sendable {
  /// A file, with what it says.
  struct File: Sendable {
    /// Its name, without the folder.
    let name: String
    let content: Content
    /// The digests of the files that it consists of: itself, and the keys and secrets that it names.
    let inputs: [ExactText: [UInt8]]
  }

  /// What a file says.
  enum Content: Sendable {
    case publisher(Publisher)
    case broken(BrokenPublisher, [Mistake])
  }

  /// The path of the folder.
  let path: String
  /// The URLs that endpoints may have.
  let addresses: WebhookAddress
  /// In the order of their names.
  let files: [File]
  /// What no two publishers may have in common.
  let credentials: [CredentialKind]

  /// Returns the publishers to use, after a reading before this one.
  ///
  /// - Parameters:
  ///   - old: the publishers in use; at a start there are none.
  ///   - now: milliseconds since 1970.
  public func reading(after old: Publishers = Publishers([]), now: Int64) -> PublisherReading {
    PublisherChoice(self, after: old).reading(now: now)
  }
}

/// The publishers of one reading, and all mistakes of their files.
public struct PublisherReading: Sendable {
  /// What a role uses.
  public let publishers: Publishers
  /// Each once.
  public let mistakes: [Mistake]
}
