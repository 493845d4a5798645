import Formats

/// How a request says where its body ends (RFC 9112, section 6.3).
///
/// libmicrohttpd takes the first of two lengths, prefers `Transfer-Encoding` over a length beside it, and reads a body
/// with any other coding until the client closes. A proxy may read the same bytes as two other requests. So the server
/// refuses each of these.
enum BodyFraming: Equatable {
  /// Neither field: there is no body.
  case none
  /// A `Content-Length`. A number beyond 2^64 counts as the greatest one.
  case length(UInt64)
  case chunked
  /// Two readers could find different ends.
  case ambiguous(String)
  /// A coding that the server does not know.
  case unknownCoding

  /// Reads the header fields of a request.
  init(_ headers: [(name: String, value: String)]) {
    var (lengths, codings): ([String], [String]) = ([], [])
    // This is a loop, because nearly every request has neither field, and this runs for each of them.
    for (name, value) in headers {
      if isSameField(name, "Content-Length") {
        lengths.append(value)
      } else if isSameField(name, "Transfer-Encoding") {
        codings.append(value)
      }
    }
    self = codings.isEmpty ? Self.length(lengths) : Self.coding(codings, beside: lengths)
  }

  private static func coding(_ codings: [String], beside lengths: [String]) -> Self {
    guard lengths.isEmpty else { return .ambiguous("Content-Length and Transfer-Encoding exclude each other") }
    return codings.count == 1 && isSameField(codings[0], "chunked") ? .chunked : .unknownCoding
  }

  private static func length(_ lengths: [String]) -> Self {
    guard let text = lengths.first else { return .none }
    guard lengths.count == 1 else { return .ambiguous("there are \(lengths.count) fields Content-Length") }
    // A plus sign, which Swift's own reader takes, is no digit (RFC 9110, section 8.6).
    guard text.isASCIIDigits() else { return .ambiguous("Content-Length is not a number") }
    return .length(UInt64(text) ?? .max)
  }

  /// Whether the body is known to be longer than a number of bytes.
  func isLonger(than most: Int) -> Bool {
    guard case .length(let length) = self else { return false }
    return length > UInt64(max(0, most))
  }

  /// The length that the head tells, if it tells one that is not longer than a number of bytes; that number otherwise.
  func length(upTo most: Int) -> Int {
    guard case .length(let length) = self else { return most }
    return Int(min(length, UInt64(max(0, most))))
  }

  /// The answer to a head whose body nobody can delimit; `nil` for every other head.
  var refusal: HTTPServerResponse? {
    switch self {
    case .none, .length, .chunked: nil
    case .ambiguous(let cause): .text(400, "\(cause)\n")
    case .unknownCoding: .text(501, "Transfer-Encoding: only chunked is known\n")
    }
  }
}
