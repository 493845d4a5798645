import AppStore
import EventLoop
import FoundationEssentials

/// `countersign verify`: verifies signed data without any network.
enum VerifyCommand {
  static let usage = """
    usage: countersign verify [--kind transaction|renewal-info|notification|app-transaction|receipt|auto]
                              [--root FILE]... [--bundle-id ID]... [--app-apple-id N] [--environment NAME]...
                              [--device-id HEX|UUID] [--batch] [FILE|-]

    Verifies what the App Store signed, a JWS or an app receipt, and prints its payload as JSON.

      --kind          what it must be; auto, the default, goes by its form and its fields
      --root          a DER or PEM root certificate to trust instead of Apple's
      --bundle-id     an app to accept; by default any. Renewal information names no app and is not checked against it
      --app-apple-id  Apple's id of the app; production notifications and app transactions need it beside --bundle-id
      --environment   Production, Sandbox, Xcode or LocalTesting; by default the first two. The last two prove nothing
                      about who signed a JWS
      --device-id     the device that a receipt must be of: its identifierForVendor or hardware address
      --batch         reads one JSON request per line and answers each with one line, in order; blank lines are skipped:
                        {"id":…,"kind":"…","data":"…","bundleId":"…","appAppleId":N,"environment":"…"}
                        {"id":…,"verdict":"accepted","kind":"…","payload":{…}}
                        {"id":…,"verdict":"rejected","reason":"…","message":"…"}    or "retry"
                      data is a JWS or a receipt in base64, as the app sent it; the other members are optional and override
                      the options; a line that is no request is rejected with the reason request_invalid

    Exits with 0 when accepted, 1 when rejected, 3 when it should be tried later, 2 for unusable arguments; with
    --batch, with the first of 2, 1, 3 that holds for any line.
    """

  /// Runs the command and returns its exit status.
  @LoopActor static func run(_ arguments: [String]) async -> Int32 {
    if arguments.contains("--help") || arguments.contains("-h") {
      print(usage)
      return 0
    }
    do {
      let options = try VerifyOptions(arguments)
      let verification = try OfflineVerification(rootFiles: options.rootFiles)
      guard let input = LineInput(file: options.file) else {
        throw VerifyOptions.Unusable(description: "\(options.file) cannot be read")
      }
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
