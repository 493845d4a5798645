/// The answer of Look Up Order ID.
public struct OrderLookupResponse: Hashable, Sendable, Decodable {
  /// Apple's word about the id. An open set, so an unknown one stays as it is.
  public struct Status: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64

    /// Takes Apple's number.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Apple knows the order.
    public static let valid = Self(rawValue: 0)
    /// Apple knows no order of this id for the app.
    public static let invalid = Self(rawValue: 1)
  }

  /// Whether Apple knows the order.
  public let status: Status
  /// The transactions of the order in the app, each signed; none if Apple does not know it.
  public let signedTransactions: [String]

  /// An order is what a customer buys within hours. More transactions are no answer of Apple's.
  public static let mostTransactions = 100

  private enum Member: String, CodingKey {
    case status, signedTransactions
  }

  /// Reads an answer.
  ///
  /// - Throws: `DecodingError` for a status that is missing, and for more than ``mostTransactions``.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Member.self)
    status = Status(rawValue: try members.decode(Int64.self, forKey: .status))
    signedTransactions = try members.decodeIfPresent([String].self, forKey: .signedTransactions) ?? []
    guard signedTransactions.count <= Self.mostTransactions else {
      throw DecodingError.dataCorruptedError(
        forKey: .signedTransactions, in: members, debugDescription: "more transactions than an order has")
    }
  }

  /// Creates an answer.
  public init(_ status: Status, _ signedTransactions: [String] = []) {
    (self.status, self.signedTransactions) = (status, signedTransactions)
  }
}
