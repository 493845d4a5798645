/// Where Apple is to be asked about a transaction first, as the last run found out; kept in Redis.
public struct Route: Sendable, Equatable {
  /// App and environment, `bundleId|environment`.
  public let place: String
  /// The only endpoint that has something to say, if it is one.
  public let endpoint: String?
  /// The original transaction, once a verified answer has told it.
  public let original: String?
  /// What Apple has answered already, while a job waits for its next call; opaque here, the worker's `KeptAnswers`.
  public let answers: String?

  /// Creates a route.
  public init(place: String, endpoint: String? = nil, original: String? = nil, answers: String? = nil) {
    self.place = place
    self.endpoint = endpoint
    self.original = original
    self.answers = answers
  }

  /// Reads a route; `nil` when the text is none.
  public init?(_ text: String) {
    let words = text.split(separator: "|", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
    guard words.count >= 2 else { return nil }
    func word(_ index: Int) -> String? { words.count > index && !words[index].isEmpty ? words[index] : nil }
    self.init(place: "\(words[0])|\(words[1])", endpoint: word(2), original: word(3), answers: word(4))
  }

  /// The route as a text: the parts, a bar between two, without the empty ones at the end.
  public var text: String {
    if let answers { return "\(place)|\(endpoint ?? "")|\(original ?? "")|\(answers)" }
    return original.map { "\(place)|\(endpoint ?? "")|\($0)" } ?? endpoint.map { "\(place)|\($0)" } ?? place
  }

  /// What is true of the transaction for longer than one job: not the answers that the job has kept, nor what it still lacks.
  public var lasting: Route { Route(place: place, endpoint: answers == nil ? endpoint : nil, original: original) }
}
