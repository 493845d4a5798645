public import Domain

/// How many jobs a worker takes out of the line: in all, in bulk, and of each publisher.
///
/// For example, a worker has 50 free places, and a publisher whose calls hang holds so many that 3 more are allowed.
/// The fourth turn of that publisher goes to another one.
public struct LineAllowances: Sendable, Equatable {
  /// What is left for one publisher.
  public struct Left: Sendable, Equatable {
    /// Jobs of both lanes.
    public var all: Int
    /// Of these, jobs in bulk.
    public var bulk: Int

    /// Creates it from both numbers.
    public init(all: Int, bulk: Int) { (self.all, self.bulk) = (all, bulk) }
  }

  /// The most jobs.
  public var all: Int
  /// The most jobs in bulk.
  public var bulk: Int
  /// What is left for each publisher that is not among ``publishers``.
  public var others: Left
  /// What is left for the publishers of which the worker has jobs in hand.
  public var publishers: [PublisherId: Left]

  /// Creates the allowances of a worker.
  public init(all: Int, bulk: Int, others: Left, publishers: [PublisherId: Left] = [:]) {
    (self.all, self.bulk, self.others, self.publishers) = (all, bulk, others, publishers)
  }

  /// Lets everybody have so many jobs of each lane.
  public init(all: Int) { self.init(all: all, bulk: all, others: Left(all: all, bulk: all)) }

  /// A worker names so many publishers. The jobs of others may be one too many for it.
  static let mostNamed = 500

  /// The publishers that may have less than others, as the script reads them: the number, and what is left in all and
  /// in bulk. Those with the least come first.
  var arguments: [String] {
    publishers.filter { $0.value.all < others.all || $0.value.bulk < others.bulk }
      .sorted { ($0.value.all, $0.value.bulk, $0.key) < ($1.value.all, $1.value.bulk, $1.key) }
      .prefix(Self.mostNamed)
      .flatMap { [String($0.key), String($0.value.all), String($0.value.bulk)] }
  }
}
