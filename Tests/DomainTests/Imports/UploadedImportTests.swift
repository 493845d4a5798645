import Testing

@testable import Domain

/// The steps of an import over HTTP, in every state.
struct UploadedImportTests {
  private typealias One = UploadedImport

  private func one(
    _ state: ImportState = .uploading, bytes: Int64 = 10, problems: Int64 = 0, skips: Bool = false
  ) -> UploadedImport {
    var one = One(
      id: "imp_1", publisherId: 7, wish: One.Wish(preset: .plain, skipsProblems: skips), token: "a", createdAt: 1)
    (one.state, one.bytes, one.parts, one.problemCount) = (state, bytes, bytes > 0 ? 1 : 0, problems)
    if state.isInWork { (one.dueAt, one.worker) = (5, "w") }
    return one
  }

  /// The state behind a step, or why it is refused; `=` stands before the state if nothing has changed.
  private func after(
    _ one: UploadedImport, _ step: (inout UploadedImport) throws(ImportStepRefusal) -> Bool
  ) -> String {
    var one = one
    let before = one
    do {
      let hasChanged = try step(&one)
      #expect((one != before) == hasChanged)
      #expect((one.changedAt == 9) == hasChanged)
      #expect(one.state.isInWork == (one.dueAt != nil))
      return (hasChanged ? "" : "=") + one.state.rawValue
    } catch {
      #expect(one == before)
      switch error {
      case .state: return "refused"
      case .noFile: return "no file"
      case .problems(let count): return "\(count) problems"
      case .offset, .empty, .tooLong, .tooManyParts: return "\(error)"
      }
    }
  }

  @Test func `each step in each state`() {
    let checks = ImportState.allCases.map { state in
      after(one(state)) { one throws(ImportStepRefusal) in try one.check(by: "b", now: 9) }
    }
    #expect(
      checks == [
        "checking", "=checking", "checking", "refused", "refused", "checking", "refused", "checking",
      ])
    let starts = ImportState.allCases.map { state in
      after(one(state)) { one throws(ImportStepRefusal) in try one.start(by: "b", now: 9) }
    }
    #expect(
      starts == ["running", "refused", "running", "=running", "refused", "running", "refused", "running"])
    let cancels = ImportState.allCases.map { state in
      after(one(state)) { one throws(ImportStepRefusal) in try one.cancel(now: 9) }
    }
    #expect(
      cancels == [
        "cancelled", "cancelled", "cancelled", "cancelling", "=cancelling", "=cancelled", "refused", "cancelled",
      ])
    let deletes = ImportState.allCases.filter { state in
      do throws(ImportStepRefusal) {
        try one(state).mayBeDeleted()
        return true
      } catch {
        return false
      }
    }
    #expect(deletes == [.uploading, .checking, .checked, .cancelled, .finished, .failed])
  }

  @Test func `there is no work without a file, and none with problems that nobody skips`() {
    for step in [false, true] {
      let result = after(one(bytes: 0)) { one throws(ImportStepRefusal) in
        step ? try one.check(by: nil, now: 9) : try one.start(by: nil, now: 9)
      }
      #expect(result == "no file")
    }
    func start(_ one: UploadedImport, _ skips: Bool?) -> String {
      after(one) { one throws(ImportStepRefusal) in try one.start(skipsProblems: skips, by: nil, now: 9) }
    }
    #expect(start(one(.checked, problems: 3), nil) == "3 problems")
    #expect(start(one(.checked, problems: 3), true) == "running")
    #expect(start(one(.checked, problems: 3, skips: true), nil) == "running")
    #expect(start(one(.checked, problems: 3, skips: true), false) == "3 problems")
    // A running import keeps what it was started with.
    #expect(start(one(.running, skips: true), true) == "=running")
    #expect(start(one(.running), true) == "refused")
    #expect(one(.running).mayRegister(problems: 0) && !one(.running).mayRegister(problems: 1))
    #expect(one(.running, skips: true).mayRegister(problems: 1) && !one(.checking).mayRegister(problems: 0))
  }

  @Test func `new work is nobody's, and forgets how the work before ended`() throws {
    var found = one(.failed, problems: 2)
    (found.cause, found.summary, found.problems, found.worker) = ("x", [1], [2], "old")
    found.progress.rowsPerMinute = 5
    let isChanged = try found.start(by: "b", now: 9)
    #expect(isChanged && found.worker == nil && found.dueAt == 9 && found.token == "b")
    #expect(found.cause == nil && found.summary == nil && found.problems == nil && found.problemCount == 0)
    #expect(found.progress.rowsPerMinute == 0)
    // A cancelled run stays its worker's, who sees it.
    var running = one(.running)
    _ = try running.cancel(now: 9)
    #expect(running.worker == "w" && running.dueAt == 5)
  }

  @Test func `a part begins where the file ends, and only while it is uploaded`() throws {
    var file = one(bytes: 0)
    try file.append(4, at: 0, now: 2)
    try file.append(6, at: 4, now: 3)
    #expect(file.bytes == 10 && file.parts == 2 && file.changedAt == 3)
    for offset in [Int64(0), 4, 9, 11, .max, -1, .min] {
      var other = file
      let refusal = #expect(throws: ImportStepRefusal.self) { try other.append(1, at: offset, now: 4) }
      #expect(refusal == .offset(expected: 10) && other == file)
    }
    for state in ImportState.allCases where state != .uploading {
      var other = one(state)
      let refusal = #expect(throws: ImportStepRefusal.self) { try other.append(1, at: 10, now: 4) }
      #expect(refusal == .state(state))
    }
  }

  @Test func `parts and files have limits`() throws {
    func refusal(_ bytes: Int64, _ count: Int, parts: Int32 = 1) -> ImportStepRefusal? {
      var file = one(bytes: bytes)
      file.parts = parts
      do throws(ImportStepRefusal) {
        try file.append(count, at: bytes, now: 4)
        return nil
      } catch {
        return error
      }
    }
    #expect(refusal(10, 0) == .empty && refusal(10, -1) == .empty)
    #expect(refusal(0, One.mostPartBytes) == nil && refusal(0, One.mostPartBytes + 1) == .tooLong)
    #expect(refusal(One.mostBytes - 5, 5) == nil && refusal(One.mostBytes - 5, 6) == .tooLong)
    #expect(refusal(10, 1, parts: One.mostParts - 1) == nil && refusal(10, 1, parts: One.mostParts) == .tooManyParts)
    #expect(refusal(0, .max) == .tooLong)
  }

  @Test func `the end of a run`() {
    func ended(_ state: ImportState, _ ending: UploadedImport.Ending) -> UploadedImport {
      var found = one(state)
      found.end(ending, now: 9)
      #expect(found.worker == nil && found.dueAt == nil && found.changedAt == 9)
      return found
    }
    #expect(ended(.checking, .checked).state == .checked && ended(.running, .checked).state == .checked)
    // The publisher has cancelled while the file was read.
    #expect(ended(.cancelling, .checked).state == .cancelled)
    #expect(ended(.running, .finished).state == .finished && ended(.cancelling, .cancelled).state == .cancelled)
    let failed = ended(.running, .failed("why"))
    #expect(failed.state == .failed && failed.cause == "why")
  }

  @Test func `a report is there when the work has ended`() {
    for state in ImportState.allCases {
      var found = one(state)
      #expect(!found.hasReport)
      found.summary = [1]
      #expect(found.hasReport == (state == .finished || state == .cancelled))
    }
  }

  @Test func `the time that is left`() {
    var progress = UploadedImport.Progress()
    #expect(progress.secondsLeft == nil)
    (progress.rows, progress.done) = (100, 40)
    #expect(progress.secondsLeft == nil)
    progress.rowsPerMinute = 30
    #expect(progress.secondsLeft == 120)
    progress.done = 200
    #expect(progress.secondsLeft == 0)
    (progress.rows, progress.done) = (.max, 0)
    #expect(progress.secondsLeft == nil)
  }

  @Test func `ids have one form`() {
    let id = ImportId(random: Array(repeating: 0xab, count: 16))
    #expect(id.text == "imp_" + String(repeating: "ab", count: 16) && ImportId.isValid(id.text))
    for wrong in ["", "imp_", "imp_" + String(repeating: "A", count: 32), id.text + "0", "imq" + id.text.dropFirst(3)] {
      #expect(!ImportId.isValid(wrong))
    }
  }
}
