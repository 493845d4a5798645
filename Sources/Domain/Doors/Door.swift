/// The name of a vendor's API that the gateway speaks too, and what the domain must know before it knows the publisher.
///
/// Each slice of `Sources/Doors` declares its own, and the core names none.
public struct Door: Sendable, Hashable {
  /// The door's name in jobs, in metrics and in the keys of a publisher's file.
  public let rawValue: String
  /// Whose credential a request has that no customer's token authorizes.
  public let asker: Job.Asker

  /// Declares a door.
  public init(_ rawValue: String, asker: Job.Asker) {
    self.rawValue = rawValue
    self.asker = asker
  }
}
