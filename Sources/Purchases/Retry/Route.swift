/// Where Apple is to be asked about a transaction first, as the last run found out; kept in Redis.
public struct Route: Sendable, Equatable {
  /// App and environment, `bundleId|environment`.
  public let place: String
  /// The only endpoint that has something to say, if it is one.
  public let endpoint: String?
  /// The original transaction, once a verified answer has told it.
  public let original: String?

  /// Creates a route.
  public init(place: String, endpoint: String? = nil, original: String? = nil) {
    self.place = place
    self.endpoint = endpoint
    self.original = original
  }

  /// Reads a route; `nil` when the text is none.
  public init?(_ text: String) {
    let words = text.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
    guard words.count >= 2 else { return nil }
    place = "\(words[0])|\(words[1])"
    endpoint = words.count > 2 && !words[2].isEmpty ? words[2] : nil
    original = words.count > 3 && !words[3].isEmpty ? words[3] : nil
  }

  /// The route as a text: the parts, a bar between two.
  public var text: String {
    original.map { "\(place)|\(endpoint ?? "")|\($0)" } ?? endpoint.map { "\(place)|\($0)" } ?? place
  }
}
