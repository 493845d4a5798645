import AppStore
import Crypto
import FoundationEssentials
import JSON

/// Verifies any kind of signed data, and shows accepted data as JSON, unknown fields included.
struct OfflineVerification {
  /// The kind that the data must have.
  enum Kind: Hashable {
    case signed(SignedDataKind)
    case receipt

    init?(name: String) {
      guard name != "receipt" else {
        self = .receipt
        return
      }
      guard let kind = SignedDataKind(rawValue: name) else { return nil }
      self = .signed(kind)
    }

    var name: String {
      switch self {
      case .signed(let kind): kind.rawValue
      case .receipt: "receipt"
      }
    }
  }

  /// The question about one piece of data.
  struct Request {
    /// `nil` chooses the kind by the form and the fields.
    var kind: Kind?
    var apps: AcceptedApps
    /// The device that a receipt must belong to.
    var device: [UInt8]?
  }

  /// The verdict, and the kind that the verification took the data for.
  struct Answer {
    var kind: Kind
    var verdict: Verdict<JSONValue>
  }

  private let signedData: SignedDataVerifier
  private let receipts: ReceiptVerifier

  init(rootFiles: [String]) throws {
    let roots = try TrustedRoots.named(rootFiles)
    signedData = SignedDataVerifier(roots: roots ?? .apple)
    receipts = ReceiptVerifier(roots: roots ?? .appleForReceipts)
  }

  /// Verifies a file: a text, with or without a line end, or a receipt in DER.
  func verdict(on bytes: [UInt8], _ request: Request) -> Answer {
    // A SEQUENCE of more than 127 bytes. No text starts with these bytes.
    if bytes.starts(with: [0x30, 0x80]) || bytes.starts(with: [0x30, 0x82]) || bytes.starts(with: [0x30, 0x83]),
      request.kind ?? .receipt == .receipt
    {
      return Answer(
        kind: .receipt, verdict: shown(receipts.receipt(bytes, expecting: request.apps, device: request.device)))
    }
    var text = String(decoding: bytes, as: UTF8.self)
    // A file or a pipe may add a line end. Any other white space belongs to the text.
    while text.last?.isNewline == true { text.removeLast() }
    return verdict(on: text, request)
  }

  /// Verifies a text.
  func verdict(on text: String, _ request: Request) -> Answer {
    let kind = request.kind ?? Self.kind(of: text)
    return Answer(kind: kind, verdict: verdict(on: text, as: kind, request))
  }

  private func verdict(on text: String, as kind: Kind, _ request: Request) -> Verdict<JSONValue> {
    let apps = request.apps
    if request.device != nil, kind != .receipt {
      // Any other data would be accepted for every device.
      return .rejected(Rejection(.deviceMismatch, "a device can be asked for of receipts only"))
    }
    return switch kind {
    case .receipt: shown(receipts.receipt(text, expecting: apps, device: request.device))
    case .signed(.transaction): shown(text, signedData.transaction(text, expecting: apps))
    case .signed(.renewalInfo): shown(text, signedData.renewalInfo(text, expecting: apps))
    case .signed(.notification): shown(text, signedData.notification(text, expecting: apps))
    case .signed(.appTransaction): shown(text, signedData.appTransaction(text, expecting: apps))
    }
  }

  /// Receipts are base64, which has no point. A text that is neither is no JWS either; its rejection as a JWS says so.
  private static func kind(of text: String) -> Kind {
    if ReceiptVerifier.isTransactionReceipt(text) { return .receipt }
    if !text.isEmpty, !text.utf8.contains(UInt8(ascii: ".")), !text.hasPrefix("eyJ") { return .receipt }
    return .signed(SignedDataVerifier.kind(of: text) ?? .transaction)
  }

  /// Replaces the decoded payload by the payload's JSON, so that the output also shows fields unknown to this version.
  private func shown<Payload>(_ text: String, _ verdict: Verdict<Payload>) -> Verdict<JSONValue> {
    verdict.map { _ in SignedDataVerifier.unverifiedPayload(of: text) ?? .null }
  }

  private func shown(_ verdict: Verdict<AppReceipt>) -> Verdict<JSONValue> {
    verdict.map { receipt in
      guard let data = try? JSONEncoder().encode(receipt), let text = try? JSONText(Array(data), limits: .own),
        let value = try? text.decoded(as: JSONValue.self)
      else { preconditionFailure("A receipt's texts and numbers can be written as JSON.") }
      return value
    }
  }
}
