import CPQ
import Glibc

extension PostgresError {
  /// Reads an error of the server, or of libpq.
  init(_ result: OpaquePointer, operation: String, target: String) {
    func field(_ letter: Unicode.Scalar) -> String? {
      PQresultErrorField(result, Int32(letter.value)).map { String(cString: $0) }
    }
    // libpq's own errors have no code.
    let code = field("C").map(Code.server) ?? .connectionLost
    let cause = field("M") ?? Self.oneLine(PQresultErrorMessage(result))
    self.init(code, operation: operation, target: target, cause: cause, constraint: field("n"))
  }

  /// Whether the server hangs up after this error, or libpq itself has failed.
  static func isFatal(_ result: OpaquePointer) -> Bool {
    guard let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))) else { return true }
    return strcmp(severity, "ERROR") != 0
  }

  /// A text of libpq, which may have several lines.
  static func oneLine(_ text: UnsafePointer<CChar>?) -> String {
    guard let text else { return "" }
    let lines = String(cString: text).split(whereSeparator: \.isNewline)
    return lines.map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
  }
}
