/// How far an import over HTTP is.
public enum ImportState: String, Sendable, CaseIterable {
  /// Its file is being uploaded.
  case uploading
  /// A worker checks the file, and registers nothing.
  case checking
  /// The file is checked. Its plan and its problems are known.
  case checked
  /// A worker registers the rows.
  case running
  /// The rows that are registered finish, and no others follow.
  case cancelling
  /// Nothing is under way. A start goes on.
  case cancelled
  /// Every row has a result, and the file is deleted.
  case finished
  /// A worker could not go on. A start tries again.
  case failed

  /// Whether a worker has something to do.
  public var isInWork: Bool { self == .checking || self == .running || self == .cancelling }
}

/// Why a step of an import is refused.
public enum ImportStepRefusal: Error, Sendable, Equatable {
  /// The import has another state than the step needs.
  case state(ImportState)
  /// The part does not begin where the file ends.
  case offset(expected: Int64)
  /// The part has no bytes.
  case empty
  /// The file would be longer than ``UploadedImport/mostBytes``.
  case tooLong
  /// The file has ``UploadedImport/mostParts`` parts.
  case tooManyParts
  /// There is no file yet.
  case noFile
  /// So many rows of the checked file cannot work.
  case problems(Int64)
}
