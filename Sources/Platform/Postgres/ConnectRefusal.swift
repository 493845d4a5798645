/// Reads why PostgreSQL, or libpq, refused a connection. By value: it sees libpq's texts only.
enum ConnectRefusal {
  /// Moves the server's code (SQLSTATE) of a verbose text to the end, and drops the place in the server's source.
  ///
  ///     … failed: FATAL:  28P01: password authentication failed for user "a"; LOCATION:  auth_failed, auth.c:338
  ///     … failed: FATAL:  password authentication failed for user "a" (28P01)
  ///
  /// - Parameter text: one line; see `PostgresError.oneLine`.
  static func withCode(_ text: String) -> String {
    let parts = text.split(separator: "; ", omittingEmptySubsequences: false).filter { !$0.hasPrefix("LOCATION:  ") }
    return parts.map(withCodeBehind).joined(separator: "; ")
  }

  private static func withCodeBehind(_ part: Substring) -> String {
    var rest = part
    while let mark = rest.firstRange(of: ":  ") {
      let code = part[mark.upperBound...].prefix(5)
      let end = part[mark.upperBound...].dropFirst(5)
      if code.count == 5, code.utf8.allSatisfy(isOfCode), end.hasPrefix(": ") {
        return "\(part[..<mark.upperBound])\(end.dropFirst(2)) (\(code))"
      }
      rest = part[mark.upperBound...]
    }
    return String(part)
  }

  private static func isOfCode(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }

  /// Adds what to do if the server takes this user over TLS only, and the connection had none.
  ///
  ///     … failed: FATAL:  no pg_hba.conf entry for host "10.0.0.7", user "a", database "b", no encryption (28000)
  ///
  /// PostgreSQL 13 and older say `SSL off`.
  static func explained(_ text: String, caFile: String?) -> String {
    let wantsTLS = [", no encryption", ", SSL off"].contains(where: text.contains)
    // The server has refused the user over TLS as well.
    let refusesTLS = [", SSL encryption", ", SSL on"].contains(where: text.contains)
    guard caFile == nil, wantsTLS, !refusesTLS else { return text }
    return "\(text); if the server takes this user only over TLS, set ledger.caFile (it means sslmode=verify-full)"
  }

  /// Whether only a person can mend what a text says: the log-in (class 28), the database (3D000) or the certificate.
  ///
  /// Of several hosts, one that is just starting (57P03), or has no room (class 53), may take the connection soon.
  static func isForGood(_ text: String) -> Bool {
    guard !["(57P", "(53"].contains(where: text.contains) else { return false }
    return ["(28", "(3D000)"].contains(where: text.contains) || withoutCode.contains(where: text.contains)
  }

  /// Texts of libpq and OpenSSL, which have no code.
  private static let withoutCode = [
    "certificate verify failed", "does not match host name", "server does not support SSL, but SSL was required",
    "no password supplied",
  ]
}

extension PostgresError {
  /// Whether PostgreSQL, or the check of its certificate, refused the connection for a reason that only a person can
  /// mend. A server that cannot be reached is none.
  public var isRefusal: Bool { code == .unreachable && ConnectRefusal.isForGood(cause) }
}
