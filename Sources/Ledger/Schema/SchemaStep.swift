/// One numbered step of the ledger's schema. A released step never changes; a change is a new step.
public struct SchemaStep: Sendable {
  /// Steps are applied in the order of their numbers, which begin with 1.
  public let number: Int32
  /// What the step is for, in a word.
  public let name: String
  /// Whether builds that do not know the step cannot work with it, for example because it renames a column.
  public let isBreaking: Bool
  /// Its statements, each ended by a semicolon.
  public let sql: String

  /// Creates a step.
  public init(number: Int32, name: String, isBreaking: Bool = false, sql: String) {
    self.number = number
    self.name = name
    self.isBreaking = isBreaking
    self.sql = sql
  }

  /// The steps that this build knows and needs.
  ///
  /// A new column also needs a line in the description of its table (docs/internals/a-new-column.md).
  public static let all: [SchemaStep] = [
    .one, .two, .three, .four, .five, .six, .seven, .eight, .nine, .ten, .eleven, .twelve, .thirteen,
    .fourteen, .fifteen, .sixteen, .seventeen,
  ]
}

/// A step that a database has.
public struct AppliedStep: Sendable, Equatable, CustomStringConvertible {
  /// The step's number.
  public let number: Int32
  /// The step's name.
  public let name: String
  /// Whether builds that do not know the step cannot work with it.
  public let isBreaking: Bool

  /// Creates a step.
  public init(number: Int32, name: String, isBreaking: Bool) {
    self.number = number
    self.name = name
    self.isBreaking = isBreaking
  }

  init(_ step: SchemaStep) { self.init(number: step.number, name: step.name, isBreaking: step.isBreaking) }

  public var description: String { "\(number) (\(name))" }
}
