import AppStore
import EventLoop
import FoundationEssentials
import Glibc

/// `countersign verify`: verifies one signed text without calling anybody.
enum VerifyCommand {
  static let usage = """
    usage: countersign verify [--kind transaction|renewal-info|notification|app-transaction|auto] [--root FILE]...
                              [--bundle-id ID]... [--app-apple-id N] [--environment NAME]... [FILE|-]

    Verifies a text signed by the App Store and prints its payload as JSON.

      --kind          what it must be; auto, the default, goes by its fields
      --root          a DER or PEM root certificate to trust instead of Apple's
      --bundle-id     an app to accept; by default any
      --app-apple-id  Apple's id of the app, which production notifications and app transactions carry
      --environment   Production, Sandbox, Xcode or LocalTesting; by default the first two

    Exits with 0 when accepted, 1 when rejected, 3 when it should be tried later, 2 for unusable arguments.
    """

  /// Runs the command and returns its exit status.
  @LoopActor static func run(_ arguments: [String]) async -> Int32 {
    if arguments.contains("--help") || arguments.contains("-h") {
      print(usage)
      return 0
    }
    do {
      let options = try VerifyOptions(arguments)
      let roots = options.rootFiles.isEmpty ? TrustedRoots.apple : try TrustedRoots(files: options.rootFiles)
      let text = try signedText(from: options.file)
      return report(SignedDataVerifier(roots: roots), text, options)
    } catch {
      complain("countersign verify: \(error)")
      return 2
    }
  }

  private static func report(_ verifier: SignedDataVerifier, _ text: String, _ options: VerifyOptions) -> Int32 {
    switch verdict(verifier, text, options) {
    case .accepted(let payload):
      print(payload)
      return 0
    case .rejected(let rejection):
      complain("rejected: \(rejection)")
      return 1
    case .tryLater(let rejection):
      complain("try later: \(rejection)")
      return 3
    }
  }

  private static func verdict(
    _ verifier: SignedDataVerifier, _ text: String, _ options: VerifyOptions
  ) -> Verdict<String> {
    let apps = options.acceptedApps
    // A text without a readable kind is not signed data at all; verifying it as a transaction says what is wrong.
    return switch options.kind ?? SignedDataVerifier.kind(of: text) ?? .transaction {
    case .transaction: printable(text, verifier.transaction(text, expecting: apps))
    case .renewalInfo: printable(text, verifier.renewalInfo(text, expecting: apps))
    case .notification: printable(text, verifier.notification(text, expecting: apps))
    case .appTransaction: printable(text, verifier.appTransaction(text, expecting: apps))
    }
  }

  /// Puts the payload's JSON in the place of the decoded payload, so that fields unknown to this version are shown too.
  private static func printable<Payload>(_ text: String, _ verdict: Verdict<Payload>) -> Verdict<String> {
    switch verdict {
    case .accepted:
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      let payload = SignedDataVerifier.unverifiedPayload(of: text)
      guard let data = try? encoder.encode(payload) else {
        return .rejected(Rejection(.malformed, "the payload cannot be written as JSON"))
      }
      return .accepted(String(decoding: data, as: UTF8.self))
    case .rejected(let rejection): return .rejected(rejection)
    case .tryLater(let rejection): return .tryLater(rejection)
    }
  }

  /// Reads the text and takes off the line end that a file or a pipe adds; anything else is the text's own.
  private static func signedText(from file: String) throws(VerifyOptions.Unusable) -> String {
    guard let bytes = file == "-" ? standardInput() : (try? Data(contentsOf: URL(filePath: file))).map(Array.init)
    else { throw VerifyOptions.Unusable(description: "\(file) cannot be read") }
    var text = String(decoding: bytes, as: UTF8.self)
    while text.last?.isNewline == true { text.removeLast() }
    return text
  }

  /// Reads to the end of a file, a pipe or a terminal, whatever standard input is.
  private static func standardInput() -> [UInt8]? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(STDIN_FILENO, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return count == 0 ? bytes : nil }
      bytes += chunk.prefix(count)
    }
  }
}
