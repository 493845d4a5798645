import Ledger
import Testing

/// Whether a build can work with the steps of a database.
struct SchemaStateTests {
  private static func step(_ number: Int32, _ name: String, isBreaking: Bool = false) -> SchemaStep {
    SchemaStep(number: number, name: name, isBreaking: isBreaking, sql: "")
  }

  private static func applied(_ number: Int32, _ name: String, isBreaking: Bool = false) -> AppliedStep {
    AppliedStep(number: number, name: name, isBreaking: isBreaking)
  }

  private let known = [step(1, "one"), step(2, "two", isBreaking: true), step(3, "three")]
  private let all = [applied(1, "one"), applied(2, "two", isBreaking: true), applied(3, "three")]

  private func judge(_ applied: [AppliedStep]) -> SchemaState { SchemaState.judge(applied: applied, known: known) }

  @Test func theSameSteps() {
    #expect(judge(all) == .ready)
    #expect(judge(all.reversed()) == .ready)
    #expect(SchemaState.judge(applied: [], known: []) == .ready)
  }

  @Test func missingSteps() {
    #expect(judge([]) == .behind(all))
    #expect(judge([all[0]]) == .behind([all[1], all[2]]))
    #expect(judge([all[2], all[0]]) == .behind([all[1]]))
  }

  @Test func moreStepsThanKnown() {
    #expect(judge(all + [Self.applied(4, "four")]) == .ready)
    let five = Self.applied(5, "five", isBreaking: true)
    let (four, six) = (Self.applied(4, "four"), Self.applied(6, "six", isBreaking: true))
    #expect(judge(all + [six, five, four]) == .incompatible(five))
    // Also if a step is missing: a migration by this build would work on tables that it does not know.
    #expect(judge([all[0], five]) == .incompatible(five))
  }

  /// Two builds that made the same number for different changes.
  @Test func aKnownNumberWithAnotherName() {
    let other = Self.applied(2, "other")
    #expect(judge([all[0], other, all[2]]) == .incompatible(other))
    // U+212A looks like K, and is another letter.
    #expect(
      SchemaState.judge(applied: [Self.applied(1, "\u{212A}")], known: [Self.step(1, "K")])
        == .incompatible(Self.applied(1, "\u{212A}")))
  }

  @Test func advice() {
    #expect(SchemaState.ready.advice == nil)
    #expect(
      judge([all[0], all[1]]).advice == "the ledger's schema lacks step 3 (three): run `countersign migrate`")
    #expect(
      judge([all[0]]).advice == "the ledger's schema lacks steps 2 (two), 3 (three): run `countersign migrate`")
    #expect(
      judge(all + [Self.applied(4, "four", isBreaking: true)]).advice
        == "the ledger's schema has step 4 (four), which this process cannot work with: update this process")
  }

  @Test func stepsOfThisBuild() {
    #expect(SchemaStep.all.map(\.number) == Array(1...Int32(SchemaStep.all.count)))
    #expect(SchemaStep.all.allSatisfy { !$0.name.isEmpty && !$0.sql.isEmpty })
  }
}
