import Domain
import Formats
import JSON

@testable import Coordination
@testable import Redis
@testable import Worker

/// What comes from Redis: replies, and the records in them.
enum RedisReplies {
  private static let now: Int64 = 1_790_000_000_000

  static func run(_ input: [UInt8]) {
    guard let reader = ReplyReader() else { return }
    let half = input.count / 2
    for piece in [input[..<half], input[half...]] {
      guard (try? piece.withUnsafeBytes { try reader.feed($0) }) != nil else { return }
      while let reply = try? reader.next() { read(reply) }
    }
    read(String(decoding: input, as: UTF8.self))
  }

  private static func read(_ reply: RESPValue) {
    _ = (reply.integer, reply.wait(), reply.array?[at: 1])
    let fields = reply.hash
    try? RecordVersion.check(fields, key: "k", "read")
    _ = Synchronization(publisher: 7, id: "s", fields: fields)
    _ = LeaseAnswer(reply)
    if let text = reply.string { read(text) }
    for element in reply.array ?? [] { read(element) }
  }

  private static func read(_ text: String) {
    _ = Claim(encoded: text).map(\.encoded)
    if let route = AppleRoute(text) {
      _ = (route.text, route.lasting)
      if let answers = route.answers { _ = KeptAnswers(answers, of: "s", attempt: 1, now: now)?.text }
    }
    _ = KeptAnswers(text, of: "s", attempt: 1, now: now)?.text
    _ = (try? Job(JSONText(Array(text.utf8)), doors: DoorCatalog()))?.defect
  }
}
