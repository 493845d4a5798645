/// Whom events are told, by publisher.
///
/// A commit owes the events of some publishers to the endpoints of their files, and those of others to nobody.
public struct EventAudience: Sendable, Equatable, ExpressibleByArrayLiteral {
  /// The publishers whose files name webhook endpoints.
  public var withWebhooks: Set<PublisherId>
  /// The publishers in ``Publisher/Mode/shadow``: nobody is told their events. The ledger keeps them all the same.
  public var inShadow: Set<PublisherId>

  /// Creates an audience.
  public init(withWebhooks: Set<PublisherId>, inShadow: Set<PublisherId> = []) {
    (self.withWebhooks, self.inShadow) = (withWebhooks, inShadow)
  }

  /// The audience of publishers.
  init(_ publishers: some Sequence<Publisher>) {
    withWebhooks = Set(publishers.lazy.filter { !$0.webhooks.isEmpty }.map(\.id))
    inShadow = Set(publishers.lazy.filter { $0.mode == .shadow }.map(\.id))
  }

  /// Publishers whose files name webhook endpoints. All others are told, too.
  public init(arrayLiteral withWebhooks: PublisherId...) { self.init(withWebhooks: Set(withWebhooks)) }
}

extension Publisher {
  /// Whom its events are told.
  public enum Mode: String, Sendable, CaseIterable {
    /// Everybody who wants them.
    case live
    /// Nobody: the publisher tries Countersign beside the system that it uses.
    case shadow
  }

  /// As ``Publishers/audience``, for a commit about this publisher alone.
  public var audience: EventAudience { EventAudience(CollectionOfOne(self)) }
}
