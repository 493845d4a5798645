import Formats

/// One mistake in a configuration, with the expected value.
public struct Mistake: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file, or `environment`.
  public let source: String
  /// The key, with dots between the levels.
  public let key: String
  /// The value that was found and the expected one.
  public let problem: String

  public var description: String { key.isEmpty ? "\(source): \(problem)" : "\(source): \(key): \(problem)" }
}

extension Mistake {
  /// Names the variable in place of the key if the value came from one.
  init(of key: String, in file: String, overriddenBy environment: [ExactText: String], _ problem: String) {
    let variable = SettingsReader.variable(key)
    let isOverridden = environment[variable] != nil
    self.init(
      source: isOverridden ? "environment" : file, key: isOverridden ? variable : key, problem: problem)
  }
}

/// All mistakes of a configuration, found in one pass.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
  /// In the order of the keys.
  public let mistakes: [Mistake]

  /// Creates an error.
  public init(mistakes: [Mistake]) { self.mistakes = mistakes }

  public var description: String { mistakes.map(\.description).joined(separator: "\n") }
}

/// The meaning of a key, for the reference in `docs/reference/configuration.md`.
public struct KeyDescription: Sendable, Equatable {
  /// The key, with dots between the levels.
  public let key: String
  /// The environment variable that overrides it; `nil` in publisher files.
  public let variable: String?
  /// The expected value, in the words of a mistake: `a whole number from 1 to 10`.
  public let expected: String
  /// The default as a person would write it, or `required`.
  public let fallback: String
  /// One sentence.
  public let meaning: String
  /// Whether the value, or the file that it names, is a secret or may hold one.
  public let isSecret: Bool
}
