import AppStore
import Crypto
import FoundationEssentials
import JSON

/// Verifies any kind of signed data, and shows what was accepted as JSON, unknown fields included.
struct OfflineVerification {
  /// What data must be.
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

  /// What is asked about one piece of data.
  struct Request {
    /// `nil` goes by the form and the fields.
    var kind: Kind?
    var apps: AcceptedApps
    /// The device that a receipt must be of.
    var device: [UInt8]?
  }

  /// The verdict, and the kind that the data was taken for.
  struct Outcome {
    var kind: Kind
    var verdict: Verdict<JSONValue>
  }

  private let signedData: SignedDataVerifier
  private let receipts: ReceiptVerifier

  init(rootFiles: [String]) throws {
    let roots = rootFiles.isEmpty ? nil : try TrustedRoots(files: rootFiles)
    signedData = SignedDataVerifier(roots: roots ?? .apple)
    receipts = ReceiptVerifier(roots: roots ?? .appleForReceipts)
  }

  /// Verifies a file: a text, with or without a line end, or a receipt in DER.
  func verdict(on bytes: [UInt8], _ request: Request) -> Outcome {
    // A SEQUENCE of more than 127 bytes, which no text starts with.
    if bytes.starts(with: [0x30, 0x80]) || bytes.starts(with: [0x30, 0x82]) || bytes.starts(with: [0x30, 0x83]),
      request.kind ?? .receipt == .receipt
    {
      return Outcome(
        kind: .receipt, verdict: shown(receipts.receipt(bytes, expecting: request.apps, device: request.device)))
    }
    var text = String(decoding: bytes, as: UTF8.self)
    // The line end that a file or a pipe adds; anything else is the text's own.
    while text.last?.isNewline == true { text.removeLast() }
    return verdict(on: text, request)
  }

  /// Verifies a text.
  func verdict(on text: String, _ request: Request) -> Outcome {
    let kind = request.kind ?? Self.kind(of: text)
    return Outcome(kind: kind, verdict: verdict(on: text, as: kind, request))
  }

  private func verdict(on text: String, as kind: Kind, _ request: Request) -> Verdict<JSONValue> {
    let apps = request.apps
    if request.device != nil, kind != .receipt {
      // It would be accepted whatever device it is of.
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

  /// Receipts are base64, in which there is no point; a text that is neither is no JWS either, and says so as one.
  private static func kind(of text: String) -> Kind {
    if !text.isEmpty, !text.utf8.contains(UInt8(ascii: ".")), !text.hasPrefix("eyJ") { return .receipt }
    return .signed(SignedDataVerifier.kind(of: text) ?? .transaction)
  }

  /// Puts the payload's JSON in the place of the decoded payload, so that fields unknown to this version are shown too.
  private func shown<Payload>(_ text: String, _ verdict: Verdict<Payload>) -> Verdict<JSONValue> {
    verdict.map { _ in SignedDataVerifier.unverifiedPayload(of: text) ?? .null }
  }

  private func shown(_ verdict: Verdict<AppReceipt>) -> Verdict<JSONValue> {
    verdict.map { receipt in
      guard let data = try? JSONEncoder().encode(receipt), let text = try? JSONText(Array(data)),
        let value = try? text.decoded(as: JSONValue.self)
      else { preconditionFailure("A receipt's texts and numbers can be written as JSON.") }
      return value
    }
  }
}
