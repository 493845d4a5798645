import AppStore
import Domain
import Formats
import FoundationEssentials
import Glibc
import JSON

/// `countersign verify --batch`: one request a line, one answer a line, in order.
struct VerifyBatch {
  /// A line of the input.
  private struct Request: Decodable {
    /// The members that a line may have; a misspelt `bundleId` must not accept any app.
    static let members: Set<ExactText> = ["id", "kind", "data", "bundleId", "appAppleId", "environment"]

    var id: JSONValue?
    var kind: String?
    var data: String
    var bundleId: BundleId?
    var appAppleId: Int64?
    var environment: String?
  }

  /// A line of the output.
  fileprivate struct Answer: Encodable {
    var id: JSONValue?
    var verdict: String
    var kind: String?
    var reason: String?
    var message: String?
    var payload: JSONValue?
  }

  /// The reason in an answer to a line that is no request.
  fileprivate static let requestInvalid = "request_invalid"

  let verification: OfflineVerification
  let options: VerifyOptions

  /// Answers every line and returns the exit status.
  func run(_ input: LineInput) -> Int32 {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let output = LineOutput()
    input.beforeReading = output.flush
    var progress = BatchProgress()
    while output.failure == nil, let line = input.next() {
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }) { continue }
      let answer = answer(to: line)
      // Texts and numbers that were decoded from JSON can be written as JSON.
      if let text = try? encoder.encode(answer) { output.write(Array(text)) }
      progress.count(answer)
    }
    output.flush()
    progress.end()
    if let failure = input.failure ?? output.failure {
      complain("countersign verify: \(failure)")
      return 2
    }
    return progress.status
  }

  private func answer(to line: [UInt8]) -> Answer {
    let request: Request
    do {
      let text = try JSONText(line)
      if let stranger = text.keys?.first(where: { !Request.members.contains($0) }) {
        return invalid(Self.id(of: text), "there is no member \(stranger)")
      }
      do {
        request = try text.decoded()
      } catch {
        return invalid(Self.id(of: text), Self.text(of: error))
      }
    } catch {
      return invalid(nil, Self.text(of: error))
    }
    var asked = options.request
    if let name = request.kind, name != "auto" {
      guard let kind = OfflineVerification.Kind(name: name) else {
        return invalid(request.id, "there is no kind \(name)")
      }
      asked.kind = kind
    }
    // 0 is none, and would accept every app.
    guard request.appAppleId == nil || AppAppleId(request.appAppleId) != nil else {
      return invalid(request.id, "appAppleId is 0, which is not an app's id")
    }
    if request.bundleId != nil || request.appAppleId != nil || request.environment != nil {
      let environments = request.environment.map { Set([Environment($0)]) }
      // Apple does not sign for these environments, so only the caller of the command may accept them.
      guard environments?.isSubset(of: options.environmentsOfLines) != false else {
        return invalid(
          request.id,
          "the environment \(request.environment ?? "") is not accepted: Production and Sandbox are, others only with --environment"
        )
      }
      asked.apps = options.apps(
        bundleIds: request.bundleId.map { [$0] }, appAppleId: request.appAppleId, environments: environments)
    }
    let found = verification.verdict(on: request.data, asked)
    var answer = Answer(id: request.id, verdict: "", kind: found.kind.name)
    switch found.verdict {
    case .accepted(let payload):
      answer.verdict = "accepted"
      answer.payload = payload
    case .rejected(let rejection):
      answer.verdict = "rejected"
      (answer.reason, answer.message) = (rejection.reason.rawValue, rejection.text)
    case .tryLater(let rejection):
      answer.verdict = "retry"
      (answer.reason, answer.message) = (rejection.reason.rawValue, rejection.text)
    }
    return answer
  }

  private func invalid(_ id: JSONValue?, _ message: String) -> Answer {
    Answer(id: id, verdict: "rejected", reason: Self.requestInvalid, message: message)
  }

  private static func id(of text: JSONText) -> JSONValue? {
    struct Identified: Decodable {
      var id: JSONValue?
    }
    return (try? text.decoded(as: Identified.self))?.id
  }

  private static func text(of error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, _): "\(key.stringValue) is missing"
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
      context.codingPath.isEmpty
        ? "not a JSON object" : "\(context.codingPath.map(\.stringValue).joined(separator: ".")) has the wrong type"
    default: "\(error)"
    }
  }
}

/// The counts of the verdicts so far, written to standard error if it is a terminal.
private struct BatchProgress {
  private static let invalid = "not a request"
  private var counts: [String: Int] = [:]
  private var total = 0
  private let isTerminal = isatty(STDERR_FILENO) == 1

  mutating func count(_ answer: VerifyBatch.Answer) {
    counts[answer.reason == VerifyBatch.requestInvalid ? Self.invalid : answer.verdict, default: 0] += 1
    total += 1
    if isTerminal, total.isMultiple(of: 500) { show() }
  }

  func end() {
    guard isTerminal else { return }
    show()
    complain("")
  }

  /// The exit status of the command. An unusable request comes before a rejection, and a rejection before a retry.
  var status: Int32 {
    if counts[Self.invalid] != nil { return 2 }
    if counts["rejected"] != nil { return 1 }
    return counts["retry"] == nil ? 0 : 3
  }

  private func show() {
    let parts = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    let line = Array("\r\(total) lines: \(parts.joined(separator: ", ")) ".utf8)
    _ = write(STDERR_FILENO, line, line.count)
  }
}
