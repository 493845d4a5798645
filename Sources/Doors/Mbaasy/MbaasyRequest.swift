import Domain
import Formats
import Gateway
import JSON
import Transport

/// A checked upload of a receipt, as the client sent it.
struct MbaasyRequest: Equatable {
  /// The address that the client wants kept with its receipt.
  enum Address: Equatable {
    /// The address that the request comes from: the client named none.
    case ofClient
    case named(String)
    /// None: the client sent `null`.
    case notKept
  }

  /// The most bytes of `metadata`.
  static let longestMetadata = 16 << 10

  /// Empty once it is read.
  private(set) var receipt: String
  /// Two letters in capitals.
  let countryCode: String?
  let identifierForVendor: String?
  /// As sent, without the door's prefix.
  let userIdentifier: String?
  let address: Address
  /// A JSON object. Equal objects have equal bytes.
  let metadata: [UInt8]?

  /// Reads a body; ignores members that the contract does not know.
  ///
  /// - Parameter policy: the door's. Its prefix counts for the length of a customer's id.
  /// - Throws: ``MbaasyError``: 422 with all mistakes.
  init(_ body: [UInt8], _ policy: DoorPolicy) throws(MbaasyError) {
    var reader = MbaasyReader(try Self.members(of: body))
    receipt = reader.text(.receipt, .receipt) { $0.isEmpty ? "is empty" : nil } ?? ""
    if !reader.has(.receipt) { reader.note(.receipt, "is missing") }
    let country = reader.text(.countryCode, .ruled) {
      CountryCode.canonical($0) == nil ? "is not a code of two letters (ISO 3166-1 alpha-2)" : nil
    }
    countryCode = country.flatMap(CountryCode.canonical)
    identifierForVendor = reader.text(.identifierForVendor, .ruled) {
      let isShown = $0.unicodeScalars.allSatisfy { !$0.isControl }
      return (1...TextLimit.name.most).contains($0.unicodeScalars.count) && isShown
        ? nil : "is not 1 to \(TextLimit.name.most) characters, none of them a control character"
    }
    userIdentifier = reader.text(.userIdentifier, .ruled) {
      if $0.isEmpty { return "is empty" }
      return policy.customerId(of: $0).isValid
        ? nil : "is not 1 to \(CustomerId.longest - policy.customerPrefix.utf8.count) bytes without control characters"
    }
    address = reader.address()
    metadata = reader.metadata()
    guard reader.mistakes.isEmpty else { throw .invalid(reader.mistakes) }
  }

  /// Forgets the receipt: many requests may wait.
  mutating func forgetReceipt() { receipt = "" }

  private static func members(of body: [UInt8]) throws(MbaasyError) -> [ExactText: JSONValue] {
    let value: JSONValue
    do {
      value = try JSONText(body).decoded()
    } catch {
      let isRepetition = (error as? JSONSyntaxError)?.repeatedMember != nil
      throw .invalid(.base, body.isEmpty ? "is missing; send a JSON object" : "\(isRepetition ? "" : "is ")\(error)")
    }
    guard case .object(let members) = value else { throw .invalid(.base, "is not a JSON object") }
    return members
  }
}

/// Reads the members of a body, and notes every mistake.
private struct MbaasyReader {
  let members: [ExactText: JSONValue]
  var mistakes: [MbaasyError.Mistake] = []

  init(_ members: [ExactText: JSONValue]) { self.members = members }

  mutating func note(_ field: MbaasyError.Field, _ text: String) {
    mistakes.append(MbaasyError.Mistake(field: field, text: text))
  }

  /// Whether the client sent a value; `null` is none.
  func has(_ field: MbaasyError.Field) -> Bool { value(field) != .null }

  private func value(_ field: MbaasyError.Field) -> JSONValue { members[field.rawValue] ?? .null }

  /// A text; `nil` if the client left it out or it is wrong.
  /// As in ``RequestObject``, there is none without a limit.
  mutating func text(
    _ field: MbaasyError.Field, _ limit: TextLimit, _ mistake: (String) -> String?
  ) -> String? {
    switch value(field) {
    case .null: return nil
    case .string(let text) where !limit.admits(text): note(field, "is longer than \(limit.most) \(limit.unit.rawValue)")
    case .string(let text):
      guard let found = mistake(text) else { return text }
      note(field, found)
    default: note(field, "is not a text")
    }
    return nil
  }

  /// The contract writes `NULL`. Some clients send that as a text.
  mutating func address() -> MbaasyRequest.Address {
    guard members[MbaasyError.Field.ipAddress.rawValue] != nil else { return .ofClient }
    let text = text(.ipAddress, .ruled) {
      $0 == "NULL" || NetworkAddress($0) != nil ? nil : "is not an IPv4 or IPv6 address"
    }
    guard let text, text != "NULL" else { return .notKept }
    return .named(text)
  }

  mutating func metadata() -> [UInt8]? {
    switch value(.metadata) {
    case .null: return nil
    case .object(let members):
      let json = JSONValue.object(members).json
      guard json.count > MbaasyRequest.longestMetadata else { return json }
      note(.metadata, "is longer than \(MbaasyRequest.longestMetadata) bytes")
    default: note(.metadata, "is not an object")
    }
    return nil
  }
}
