public import Formats

/// The name of a preset: whose export a file is. An open set: which names have columns, a build knows by its presets.
/// The ledger keeps the name of an import until it ends, also one that only another version knows.
public struct ImportPresetName: ExactRawValue, Sendable {
  public let rawValue: String

  /// Takes a name as it is. Who reads it from outside looks for its columns.
  public init(rawValue: String) { self.rawValue = rawValue }
  private init(_ name: String) { rawValue = name }

  /// A table of one's own.
  public static let plain = Self("plain")
  /// An export of Countersign's own. It has lines of several kinds, and no columns.
  public static let countersign = Self("countersign")
}
