/// A publisher's file that does not count, because it has a mistake or contradicts another publisher's file.
///
/// For example, `1004.json` names a key file that is not there. If the role has used an older content of the file, the
/// publisher stays as it was. Otherwise the publisher is absent: its callers get 503, and its jobs wait.
public struct BrokenPublisher: Sendable {
  /// The file's name, without its folder.
  public let file: String
  /// The publisher's id: from the file, or else from the file's name; `nil` if neither tells it.
  public let id: PublisherId?
  /// A sentence for each mistake.
  public let mistakes: [String]
  /// The part of the file that can be read. It only serves to recognize the publisher's callers.
  public let remains: Publisher?
  /// The apps that it names, also those whose key cannot be read.
  public let bundleIds: [BundleId]
  /// Whether a credential that nobody has may be the publisher's: not all of its credentials can be read.
  public let hidesCallers: Bool
  /// Whether the publisher is in use as it was before the mistake.
  public var isKept = false
  /// Since when this process knows the mistake, in milliseconds since 1970.
  public var since: Int64 = 0

  /// Creates a broken publisher.
  public init(
    file: String, id: PublisherId?, mistakes: [String], remains: Publisher? = nil, bundleIds: [BundleId] = [],
    hidesCallers: Bool, isKept: Bool = false, since: Int64 = 0
  ) {
    (self.file, self.id, self.mistakes) = (file, id, mistakes)
    (self.remains, self.bundleIds) = (remains, bundleIds)
    (self.hidesCallers, self.isKept, self.since) = (hidesCallers, isKept, since)
  }

  /// How long a credential that nobody has may be that of an absent publisher, in milliseconds. Afterwards it is wrong
  /// again: one file must not change the answers to strangers for ever.
  public static let doubt: Int64 = 3_600_000

  /// How long a client waits before it tries again, in seconds. A role looks at its files as often by default.
  public static let retryAfter = 30

  /// What a person must hear after a reading.
  public struct Change {
    /// Files with mistakes that nobody has told.
    public let new: [BrokenPublisher]
    /// Files that had mistakes, and have none now or are gone.
    public let mended: [String]

    /// Compares two readings.
    public init(from old: [BrokenPublisher], to present: [BrokenPublisher]) {
      let told = Dictionary(old.map { ($0.file, $0) }) { first, _ in first }
      new = present.filter { broken in
        told[broken.file].map { $0.mistakes != broken.mistakes || $0.isKept != broken.isKept } ?? true
      }
      let files = Set(present.map(\.file))
      mended = old.map(\.file).filter { !files.contains($0) }
    }
  }
}
