/// Where a worker asks Apple about a transaction first, as the last run found out; kept in Redis.
public struct AppleRoute: Sendable, Equatable {
  /// App and environment, `bundleId|environment`.
  public let place: PlaceName
  /// The only endpoint that can say something about the transaction, if there is only one.
  public let endpoint: String?
  /// The original transaction, once a verified answer has named it.
  public let original: OriginalTransactionId?
  /// Apple's answers so far, while a job waits for its next call. The text is opaque here; it holds the worker's
  /// `KeptAnswers`.
  public let answers: String?

  /// Creates a route.
  public init(place: PlaceName, endpoint: String? = nil, original: OriginalTransactionId? = nil, answers: String? = nil)
  {
    self.place = place
    self.endpoint = endpoint
    self.original = original
    self.answers = answers
  }

  /// Reads a route; `nil` when the text is no route.
  public init?(_ text: String) {
    let words = text.split(separator: "|", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
    guard words.count >= 2 else { return nil }
    func word(_ index: Int) -> String? { words.count > index && !words[index].isEmpty ? words[index] : nil }
    self.init(
      place: "\(words[0])|\(words[1])", endpoint: word(2), original: word(3).map(OriginalTransactionId.init(_:)),
      answers: word(4))
  }

  /// The route as a text: its parts with a bar between them, without empty parts at the end.
  public var text: String {
    if let answers { return "\(place)|\(endpoint ?? "")|\(original?.text ?? "")|\(answers)" }
    return original.map { "\(place)|\(endpoint ?? "")|\($0)" } ?? endpoint.map { "\(place)|\($0)" } ?? place.text
  }

  /// The part of the route that outlives one job. It has neither the answers that the job has kept nor the endpoint
  /// that it still needs.
  public var lasting: AppleRoute {
    AppleRoute(place: place, endpoint: answers == nil ? endpoint : nil, original: original)
  }
}
