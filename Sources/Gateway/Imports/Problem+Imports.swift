import Domain
import HTTPServer
import Ledger

extension Problem {
  static let noImport = notFound("The publisher has no such import; POST /imports creates one.")

  /// A step of an import that is refused.
  init(_ refusal: ImportStepRefusal) {
    switch refusal {
    case .state(let state):
      self = Problem(
        409, "IMP0002", "The import's state does not allow this",
        detail: "The import is \(state.rawValue). docs/how-to/import-purchases.md says which step may follow.")
    case .offset(let expected):
      self = Problem(
        409, "IMP0001", "The part does not begin where the file ends",
        detail: "The file has \(expected) bytes. Send the part that begins there, with offset=\(expected).",
        headers: ["Upload-Offset": String(expected)])
    case .empty: self = .invalidBody("The body is missing; send the next bytes of the file.")
    case .tooLong:
      self = Problem(
        413, "IMP0003", "The file is too long",
        detail: "A file has at most \(UploadedImport.mostBytes) bytes. Divide it, and import its parts one by one.")
    case .tooManyParts:
      self = Problem(
        413, "IMP0003", "The file is too long",
        detail:
          "A file has at most \(UploadedImport.mostParts) parts. Begin a new import, with larger parts or a divided file."
      )
    case .noFile:
      self = Problem(
        409, "IMP0002", "The import's state does not allow this",
        detail: "The import has no file yet: POST /imports/{importId}/file?offset=0 with its bytes.")
    case .problems(let count):
      self = Problem(
        409, "IMP0004", "The file has rows that cannot work",
        detail: "\(count) rows cannot work. Correct the file and upload it into a new import, or start with "
          + #"{"skipProblems": true} to leave them out."#)
    }
  }

  static let noReport = Problem(
    409, "IMP0005", "The import has no report",
    detail: "There is a report when the import is finished, or was cancelled while it ran.")

  /// Why there is no room for a new import; `nil` if there is.
  init?(_ room: ImportStore.Room) {
    let detail: String
    switch room {
    case .enough: return nil
    case .tooManyOpen:
      detail = "The publisher has \(UploadedImport.mostOpen) imports that are not finished. Delete one of them first."
    case .tooManyKept:
      detail =
        "The publisher has \(UploadedImport.mostKept) imports, with finished ones. "
        + "Delete finished ones first, whose reports you have."
    }
    self = Problem(409, "LIM0015", "Too many imports", detail: detail)
  }
}
