import FoundationEssentials

/// Notifications that the simulator has signed, from a file: on each line the transaction id, a space, and the
/// `signedPayload`.
struct SignedNotifications {
  struct Line {
    let transactionId: String
    let signedPayload: String

    /// Who owns the purchase: the customer whose token it carries.
    var customerId: String { "customer-\(transactionId)" }
  }

  let lines: [Line]

  init(file: String, from first: Int, count: Int) throws {
    let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    lines = text.split(separator: "\n").dropFirst(first).prefix(count).map { line in
      let parts = line.split(separator: " ", maxSplits: 1)
      return Line(transactionId: String(parts[0]), signedPayload: parts.count == 2 ? String(parts[1]) : "")
    }
    guard lines.count == count else { throw Unexpected(description: "\(file) has no \(count) lines behind \(first)") }
  }

  /// The posts of Apple's.
  func requests(port: Int) -> [[UInt8]] {
    lines.map { line in
      let body = "{\"signedPayload\":\"\(line.signedPayload)\"}"
      return Array(
        """
        POST /apple/notifications HTTP/1.1\r
        Host: 127.0.0.1:\(port)\r
        Content-Type: application/json\r
        Content-Length: \(body.utf8.count)\r
        \r
        \(body)
        """.utf8)
    }
  }
}
