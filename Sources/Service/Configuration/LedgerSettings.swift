import Formats

/// The ledger's address: PostgreSQL, which remembers every purchase.
public struct LedgerSettings: Sendable {
  /// `postgresql://user@host:port,host2:port2/database`, perhaps with a password; empty when the file names none.
  public var url: String
  /// The password of the file that `ledger.passwordFile` names; it comes before one in the URL.
  public var password: String?
  /// PEM file with the authorities for PostgreSQL's TLS; `nil` means that nobody checks who the server is.
  public var caFile: String?
  /// JSON file with the keys that encrypt the secrets in the ledger; see ``readKeys()``.
  public var keysFile: String?
  /// Whether gateways and notifiers take no plain secret of the ledger.
  public var refusesPlainSecrets: Bool
  /// Connections of one process.
  public var connections: Int
  /// Time for the answer to a batch of statements.
  public var replyTimeout: Duration

  static let key = "ledger.url"
  /// The key that names the file of ``keysFile``.
  public static let keysFileKey = "ledger.keysFile"
  static let refusesPlainSecretsKey = "ledger.refusesPlainSecrets"

  init(_ reader: SettingsReader) {
    url =
      reader.optionalString(
        Self.key,
        "PostgreSQL URL: `postgresql://user:password@host:port,host2:port2/database`; the process uses the host that "
          + "accepts writes. Only the simulator needs no ledger.", isSecret: true, shown: "required") ?? ""
    if !url.isEmpty, DatabaseURL(url) == nil { reader.note(Self.key, "expected \(DatabaseURL.form)") }
    password = reader.password(
      "ledger.passwordFile", "File with the password, instead of one in the URL.")
    caFile = reader.optionalPath(
      "ledger.caFile",
      "PEM file of certificate authorities. With it, the process requires TLS and checks the server's name. Without "
        + "it, the process encrypts if the server can, and checks nothing.")
    keysFile = reader.optionalString(
      Self.keysFileKey,
      "JSON file with the keys that encrypt the secrets of webhook endpoints in the ledger. Gateways, notifiers and "
        + "consoles need it. Without it, secrets are stored as plain text.", isSecret: true
    ).map(reader.resolve)
    refusesPlainSecrets = reader.bool(
      Self.refusesPlainSecretsKey, false,
      "Whether gateways and notifiers refuse secrets in the ledger that are plain text. Set it when `countersign rekey` "
        + "has encrypted all of them.")
    connections = Int(reader.int("ledger.connections", 2, 1...64, "Connections of one process."))
    replyTimeout = reader.seconds(
      "ledger.replyTimeoutSeconds", 5, 0.1...300,
      "If a reply takes longer, the process closes the connection, and runs its statements again.")
  }
}
