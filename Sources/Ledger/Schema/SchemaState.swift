import Formats

/// Whether a build can work with the schema of a database.
public enum SchemaState: Sendable, Equatable {
  /// It can. The database may have more steps than the build knows.
  case ready
  /// The database misses steps.
  case behind([AppliedStep])
  /// The database has a step that the build does not know and cannot work with.
  case incompatible(AppliedStep)

  /// Compares the steps of a database with those of a build.
  ///
  /// A step with a known number and another name comes from a build of other people. Nobody knows what it did.
  public static func judge(applied: [AppliedStep], known: [SchemaStep]) -> SchemaState {
    let names = Dictionary(known.map { ($0.number, ExactText($0.name)) }) { first, _ in first }
    let stranger = applied.sorted { $0.number < $1.number }.first { step in
      names[step.number].map { $0 != ExactText(step.name) } ?? step.isBreaking
    }
    if let stranger { return .incompatible(stranger) }
    let numbers = Set(applied.map(\.number))
    let missing = known.filter { !numbers.contains($0.number) }.sorted { $0.number < $1.number }
    return missing.isEmpty ? .ready : .behind(missing.map(AppliedStep.init))
  }

  /// What a person has to do; `nil` for a schema that the build can work with.
  public var advice: String? {
    switch self {
    case .ready: nil
    case .behind(let missing):
      "the ledger's schema lacks \(missing.count == 1 ? "step" : "steps") "
        + missing.map(\.description).joined(separator: ", ") + ": run `countersign migrate`"
    case .incompatible(let step):
      "the ledger's schema has step \(step), which this process cannot work with: update this process"
    }
  }
}

/// A schema that a build cannot work with.
public struct SchemaMismatch: Error, Sendable, CustomStringConvertible {
  /// The comparison.
  public let state: SchemaState

  public var description: String { state.advice ?? "the ledger's schema fits" }
}
