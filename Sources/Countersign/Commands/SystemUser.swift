import Glibc
import Ledger

/// The user of the system who runs the process.
enum SystemUser {
  /// The name, or the number if the system has no usable name for it, as in many containers.
  static var name: String {
    let id = geteuid()
    // The entry is a buffer of the library's. Nothing else in a command asks for one.
    let known = getpwuid(id).flatMap { $0.pointee.pw_name.map { String(cString: $0) } }
    return known.flatMap { OperatorAudit.defect(ofName: $0) == nil ? $0 : nil } ?? "uid \(id)"
  }
}
