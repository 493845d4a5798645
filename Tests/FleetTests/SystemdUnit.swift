import TestSupport

/// What a test that plays systemd reads in `ops/systemd/countersign@.service`.
struct SystemdUnit {
  /// Where the unit expects the configuration.
  static let folder = "/etc/countersign"

  private let values: [String: [String]]

  /// Reads the unit's text. It has no line that goes on in the next one, and no quotes.
  init(_ text: String) {
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") && !$0.hasPrefix("[") }
    values = lines.reduce(into: [:]) { values, line in
      let pair = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2 else { return }
      values[String(pair[0]), default: []].append(String(pair[1]))
    }
  }

  /// `ExecStart` for an instance: the program and its words.
  func command(_ instance: String) throws -> (program: String, words: [String]) {
    let words = (values["ExecStart"]?.first ?? "").replacing("%i", with: instance).split(separator: " ")
    guard let program = words.first else { throw NeverHappened(description: "an ExecStart") }
    return (String(program), words.dropFirst().map(String.init))
  }

  /// `LoadCredential`: the files that a role gets copies of.
  var credentials: [(name: String, file: String)] {
    (values["LoadCredential"] ?? []).compactMap { line in
      let pair = line.split(separator: ":", maxSplits: 1).map(String.init)
      return pair.count == 2 ? (pair[0], pair[1]) : nil
    }
  }

  /// `Environment`, with the folder of the copies.
  func environment(credentials: String) -> [String: String] {
    (values["Environment"] ?? []).reduce(into: [:]) { variables, line in
      let pair = line.split(separator: "=", maxSplits: 1).map(String.init)
      if pair.count == 2 { variables[pair[0]] = pair[1].replacing("%d", with: credentials) }
    }
  }
}
