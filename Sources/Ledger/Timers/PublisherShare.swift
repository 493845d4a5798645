public import Domain
import Postgres

/// A publisher, with how many of its due rows may be taken now: timers, ends of grants, or requests for refunds.
public struct PublisherShare: Sendable {
  let publisherId: PublisherId
  let most: Int

  /// Creates a share.
  public init(publisherId: PublisherId, most: Int) { (self.publisherId, self.most) = (publisherId, most) }
}

extension [PublisherShare] {
  /// The first two parameters of a statement that takes due rows: the publishers, and the most of each.
  var parameters: [PostgresParameter] { [.ids(map(\.publisherId)), .int64s(map { Int64($0.most) })] }
}
