import AppStore
import Configuration
import EventLoop
import FoundationEssentials

/// `countersign verify`: verifies signed data without any network.
enum VerifyCommand {
  static let command = Command(
    name: "verify", summary: "verifies signed data offline", synopsis: "[OPTION]... [FILE|-]", mostOperands: 1,
    options: VerifyOptions.all,
    notes: """
      It reads a JWS or an app receipt from a file or from standard input, and prints its payload as
      JSON. With --batch, data is a JWS or a receipt in base64, as the app sent it. The other members
      override the options:
        {"id":…,"kind":"…","data":"…","bundleId":"…","appAppleId":N,"environment":"…"}
      Each line is answered in order. Blank lines are skipped. A line that is no request is rejected:
        {"id":…,"verdict":"accepted","kind":"…","payload":{…}}
        {"id":…,"verdict":"rejected","reason":"…","message":"…"}    or "retry"

      Exits with 0 if accepted, 1 if rejected, 3 if it should be tried later, and 2 for unusable
      arguments; with --batch, with the first of 2, 1, 3 that holds for any line.
      """, run: run)

  /// Runs the command and returns its exit status.
  @LoopActor static func run(_ arguments: [String]) async -> Int32 {
    do {
      let options = try VerifyOptions(arguments)
      let verification: OfflineVerification
      do {
        verification = try OfflineVerification(rootFiles: options.rootFiles)
      } catch {
        // Asked afterwards: whoever opens a pipe takes it from its reader.
        for file in options.rootFiles {
          let cause = FileBytes.cause(file)
          guard cause.isEmpty else {
            throw VerifyOptions.Unusable(description: "--root: \(file) cannot be read\(cause)")
          }
        }
        throw error
      }
      let input = try LineInput(file: options.file)
      if options.isBatch { return VerifyBatch(verification: verification, options: options).run(input) }
      guard let bytes = input.readAll() else {
        throw VerifyOptions.Unusable(
          description:
            "\(options.file) cannot be read: \(input.failure ?? "it is longer than anything that is verified")")
      }
      guard !bytes.isEmpty else { throw VerifyOptions.Unusable(description: "\(options.file) is empty") }
      return report(verification.verdict(on: bytes, options.request))
    } catch {
      complain("countersign verify: \(error)")
      return 2
    }
  }

  private static func report(_ answer: OfflineVerification.Answer) -> Int32 {
    switch answer.verdict {
    case .accepted(let payload):
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      // A payload that was decoded from JSON can always be written as JSON.
      print((try? encoder.encode(payload)).map { String(decoding: $0, as: UTF8.self) } ?? "{}")
      return 0
    case .rejected(let rejection):
      complain("rejected: \(rejection)")
      return 1
    case .tryLater(let rejection):
      complain("try later: \(rejection)")
      return 3
    }
  }
}
