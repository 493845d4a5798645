/// An import that a publisher has uploaded over HTTP. Its steps are pure: a store applies them to a locked row.
public struct UploadedImport: Sendable, Equatable {
  /// The most bytes of a file.
  public static let mostBytes: Int64 = 256 << 20
  /// The most bytes of a part, which one request brings.
  public static let mostPartBytes = 4 << 20
  /// The most parts of a file.
  public static let mostParts: Int32 = 4096
  /// The most rows of a file, since a worker keeps some hundred bytes of each.
  public static let mostRows = 1_000_000
  /// The most bytes of memory that a worker keeps of the rows of a file.
  public static let mostRowBytes = 256 << 20
  /// The most problems that an import keeps.
  public static let mostProblems = 100
  /// The most imports of a publisher that are not finished.
  public static let mostOpen = 3
  /// The most imports of a publisher, with finished ones: their reports take room until they go.
  public static let mostKept = 20
  /// How long an import is kept after its last change.
  public static let retention = Duration.seconds(7 * 24 * 3600)

  /// What the publisher wants.
  public struct Wish: Sendable, Equatable {
    /// Whose columns the file has.
    public var preset: ImportPresetName
    /// The part of Apple's budget that it may use, in thousandths.
    public var sharePerMille: Int32
    /// Whether subscribers are told.
    public var tells: Bool
    /// Whether rows that cannot work are left out.
    public var skipsProblems: Bool
    /// Another pass over rows that were imported before has another number.
    public var round: Int32

    /// Creates a wish.
    public init(
      preset: ImportPresetName, sharePerMille: Int32 = 300, tells: Bool = false, skipsProblems: Bool = false,
      round: Int32 = 1
    ) {
      (self.preset, self.sharePerMille, self.tells) = (preset, sharePerMille, tells)
      (self.skipsProblems, self.round) = (skipsProblems, round)
    }
  }

  /// How far the rows are.
  public struct Progress: Sendable, Equatable {
    /// Rows to import; `nil` before the file is read.
    public var rows: Int64?
    /// Rows with a result.
    public var done: Int64 = 0
    /// Rows that had a result before the import began; `nil` before it begins.
    public var earlier: Int64?
    public var rowsPerMinute: Int64 = 0

    /// Creates the progress of an import that has not begun.
    public init() {}

    /// The seconds until the last row; `nil` while nobody can tell.
    public var secondsLeft: Int64? {
      guard let rows, rowsPerMinute > 0 else { return nil }
      let (seconds, isTooMany) = max(0, rows - done).multipliedReportingOverflow(by: 60)
      return isTooMany ? nil : seconds / rowsPerMinute
    }
  }

  public var id: ImportId
  public var publisherId: PublisherId
  public var wish: Wish
  public var state = ImportState.uploading
  /// The name of the publisher's token that asked for it last.
  public var token: String?
  /// Milliseconds since 1970.
  public var createdAt: Int64
  public var changedAt: Int64
  /// The length of the file.
  public var bytes: Int64 = 0
  public var parts: Int32 = 0
  public var progress = Progress()
  public var problemCount: Int64 = 0
  /// The first problems, as a JSON array.
  public var problems: [UInt8]?
  /// The plan, as a JSON object.
  public var plan: [UInt8]?
  /// The end's counts, as a JSON object; `nil` without a report.
  public var summary: [UInt8]?
  /// Why a worker could not go on.
  public var cause: String?
  /// When a worker may take it; `nil` if there is nothing to do. Milliseconds since 1970.
  public var dueAt: Int64?
  /// The run that has it.
  public var worker: String?

  /// Creates an import without a file.
  public init(id: ImportId, publisherId: PublisherId, wish: Wish, token: String? = nil, createdAt: Int64) {
    (self.id, self.publisherId, self.wish, self.token) = (id, publisherId, wish, token)
    (self.createdAt, changedAt) = (createdAt, createdAt)
  }

  /// Whether there is a report.
  public var hasReport: Bool { summary != nil && (state == .finished || state == .cancelled) }

  // MARK: Steps

  /// Adds a part to the file.
  ///
  /// - Parameters:
  ///   - count: its bytes.
  ///   - offset: where it begins, as the client sees it.
  ///   - now: milliseconds since 1970, as in the other steps.
  public mutating func append(_ count: Int, at offset: Int64, now: Int64) throws(ImportStepRefusal) {
    guard state == .uploading else { throw .state(state) }
    guard offset == bytes else { throw .offset(expected: bytes) }
    guard count > 0 else { throw .empty }
    guard parts < Self.mostParts else { throw .tooManyParts }
    guard count <= Self.mostPartBytes, bytes <= Self.mostBytes - Int64(count) else { throw .tooLong }
    bytes += Int64(count)
    parts += 1
    changedAt = now
  }

  /// Lets a worker check the file.
  ///
  /// - Returns: whether this changes anything.
  public mutating func check(by token: String?, now: Int64) throws(ImportStepRefusal) -> Bool {
    if state == .checking { return false }
    try beginWork(.checking, by: token, now: now)
    return true
  }

  /// Lets a worker register the rows, or go on with them.
  ///
  /// - Parameter skipsProblems: another wish than before; `nil` for the same.
  /// - Returns: whether this changes anything.
  public mutating func start(
    skipsProblems: Bool? = nil, by token: String?, now: Int64
  ) throws(ImportStepRefusal) -> Bool {
    if state == .running, skipsProblems ?? wish.skipsProblems == wish.skipsProblems { return false }
    if state == .checked, problemCount > 0, !(skipsProblems ?? wish.skipsProblems) { throw .problems(problemCount) }
    try beginWork(.running, by: token, now: now)
    wish.skipsProblems = skipsProblems ?? wish.skipsProblems
    return true
  }

  private mutating func beginWork(_ next: ImportState, by token: String?, now: Int64) throws(ImportStepRefusal) {
    switch state {
    case .uploading, .checked, .cancelled, .failed: break
    case .checking, .running, .cancelling, .finished: throw .state(state)
    }
    guard bytes > 0 else { throw .noFile }
    (state, self.token, dueAt, worker, changedAt) = (next, token, now, nil, now)
    (problems, problemCount, summary, cause) = (nil, 0, nil, nil)
    progress.rowsPerMinute = 0
  }

  /// Ends what is under way. Rows that are registered finish.
  ///
  /// - Returns: whether this changes anything.
  public mutating func cancel(now: Int64) throws(ImportStepRefusal) -> Bool {
    switch state {
    case .cancelling, .cancelled: return false
    case .finished: throw .state(state)
    case .running: state = .cancelling  // The worker keeps it, and sees this.
    case .uploading, .checking, .checked, .failed: (state, dueAt, worker) = (.cancelled, nil, nil)
    }
    changedAt = now
    return true
  }

  /// Refuses to delete an import whose rows are being registered.
  public func mayBeDeleted() throws(ImportStepRefusal) {
    guard state != .running, state != .cancelling else { throw .state(state) }
  }

  /// How a worker's run has ended.
  public enum Ending: Sendable, Equatable {
    /// The file is read, and nothing is registered: a check, or problems that nobody wants to skip.
    case checked
    /// Every row has a result.
    case finished
    case cancelled
    case failed(String)
  }

  /// Ends the run of a worker.
  public mutating func end(_ ending: Ending, now: Int64) {
    (dueAt, worker, changedAt) = (nil, nil, now)
    switch ending {
    case .checked: state = state == .cancelling ? .cancelled : .checked
    case .finished: state = .finished
    case .cancelled: state = .cancelled
    case .failed(let cause): (state, self.cause) = (.failed, cause)
    }
  }

  /// What a worker does with a file that it has read.
  ///
  /// - Parameter problems: how many rows cannot work.
  public func mayRegister(problems: Int) -> Bool {
    state != .checking && (problems == 0 || wish.skipsProblems)
  }
}
