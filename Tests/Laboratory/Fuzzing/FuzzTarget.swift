import AppStore
import Crypto
import Domain
import FoundationEssentials
import JSON

/// Runs one input of libFuzzer, which chooses inputs by the code that they reach. The fuzzer looks for a crash: a trap
/// of Swift, a memory error or leak in OpenSSL that the address sanitizer sees, or a hang.
@_cdecl("LLVMFuzzerTestOneInput")
public func runOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  FuzzTarget.chosen.run(Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}

/// The target of the inputs: a parser of data from phones or from the network.
///
/// The fuzzer also reaches the code behind a signature: it signs each input as well, with an authority made for this
/// run.
enum FuzzTarget: String, CaseIterable {
  /// A compact JWS, and the payload of one.
  case jws
  /// An X.509 certificate, and a chain of it.
  case certificate
  /// An app receipt with its certificates (CMS), and the content of one (ASN.1).
  case receipt
  /// A JSON text.
  case json
  /// A notification of Apple's, and what is nested in it.
  case notification
  /// What anybody may post to the URL for Apple's notifications, unsigned.
  case posted
  /// The answer of a webhook endpoint, of Apple's API, or of a publisher's key set.
  case answer
  /// The head of such an answer.
  case head
  /// What the broker brings: frames, jobs, deliveries and their headers.
  case message
  /// What Redis answers, and its records.
  case reply
  /// The raw bytes of a request to a running server.
  case request

  static let chosen: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["COUNTERSIGN_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
      fatalError("COUNTERSIGN_FUZZ_TARGET must be one of \(allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return target
  }()

  func run(_ input: [UInt8]) {
    switch self {
    case .jws: Self.runJWS(input)
    case .certificate: Self.runCertificate(input)
    case .receipt: Self.runReceipt(input)
    case .json: Self.runJSON(input)
    case .notification: Self.runNotification(input)
    case .posted: Self.runPosted(input)
    case .answer:
      EndpointAnswers.run(input)
      ServiceAnswers.run(input)
    case .head: AnswerHeads.run(input)
    case .message: BrokerMessages.run(input)
    case .reply: RedisReplies.run(input)
    case .request: FuzzServer.shared.run(input)
    }
  }

  private static let apps = AcceptedApps.anyApp(in: [.production, .sandbox, .xcode])
  private static let authority = FuzzAuthority()

  private static func runJWS(_ input: [UInt8]) {
    for text in [String(decoding: input, as: UTF8.self), authority.jws(input)] {
      _ = SignedDataVerifier.kind(of: text)
      _ = SignedDataVerifier.unverifiedPayload(of: text)
      if let transaction = authority.signedData.transaction(text, expecting: apps).payload {
        _ = authority.signedData.renewalInfo(text, belongingTo: transaction)
      }
      _ = authority.signedData.renewalInfo(text, expecting: apps)
      _ = authority.signedData.notification(text, expecting: apps)
      _ = authority.signedData.appTransaction(text, expecting: apps)
    }
  }

  private static func runCertificate(_ input: [UInt8]) {
    guard let certificate = try? Certificate(der: input) else { return }
    _ = (certificate.subject, certificate.issuer, certificate.notBefore, certificate.notAfter, certificate.isCA)
    _ = (certificate.signatureSecurityBits, certificate.keySecurityBits, certificate.p256PublicKey()?.pem)
    _ = (certificate.pem, certificate.sha256, certificate.hasExtension("1.2.840.113635.100.6.11.1"))
    let chain = CertificateChain(leaf: certificate, intermediate: certificate)
    _ = try? chain.verify(against: TrustedRoots.apple.certificates + [certificate], at: 1_700_000_000_000)
  }

  private static func runReceipt(_ input: [UInt8]) {
    for message in [input, authority.receipt(input)] {
      _ = authority.receipts.receipt(message, expecting: apps, device: [1, 2, 3])
    }
    _ = authority.receipts.receipt(String(decoding: input, as: UTF8.self), expecting: apps)
  }

  private static func runNotification(_ input: [UInt8]) {
    // As what Apple signs, and as one of the texts that it nests.
    runSigned(authority.jws(input))
    let nested = authority.jws(input)
    let (part, text): (StaticString, StaticString) =
      switch input.count % 3 {
      case 0: ("data", "signedTransactionInfo")
      case 1: ("data", "signedRenewalInfo")
      default: ("appData", "signedAppTransactionInfo")
      }
    runSigned(
      authority.jws(
        JSONWriter.object { json in
          json.member("notificationType", "DID_RENEW")
          json.member("notificationUUID", "a")
          json.member("signedDate", 1_790_000_000_000 as Int64)
          json.member(part) { data in
            data.member("bundleId", "b")
            data.member("environment", "Sandbox")
            data.member(text, nested)
          }
        }))
    guard let posted = try? PostedNotification(input) else { return }
    switch posted {
    case .version2(let text):
      runSigned(text)
      runSigned(authority.jws(Array(text.utf8)))
    case .version1(let sealed):
      precondition(sealed.hasPassword(sha256: sealed.passwordSHA256))
      guard let hint = try? sealed.hint() else { return }
      precondition(hint.originalTransactionIds.count <= NotificationV1.mostPurchases)
    }
  }

  /// Nothing in it is signed with the authority of this run, so that an input costs no signature.
  private static func runPosted(_ input: [UInt8]) {
    switch try? PostedNotification(input) {
    case .version2(let text)?:
      _ = SignedDataVerifier.kind(of: text)
      _ = SignedDataVerifier.unverifiedPayload(of: text)
      precondition(authority.signedData.notification(text, expecting: apps).payload == nil, "it is not signed")
    case .version1(let sealed)?:
      precondition(sealed.hasPassword(sha256: sealed.passwordSHA256))
      guard let hint = try? sealed.hint() else { return }
      precondition(hint.originalTransactionIds.count <= NotificationV1.mostPurchases)
    case nil: break
    }
  }

  private static func runSigned(_ text: String) {
    guard let notification = authority.signedData.notification(text, expecting: apps).payload else { return }
    _ = (notification.kind.isKnown, notification.kind.reason, notification.evidence, notification.defects)
    _ = NotificationNotice(notification, of: 1)
  }

  private static func runJSON(_ input: [UInt8]) {
    guard let text = try? JSONText(input) else { return }
    _ = text.keys
    _ = try? text.decoded(as: JSONValue.self)
    _ = try? text.decoded(as: NotificationPayload.self)
    _ = try? TransactionPayload(text)
  }
}
