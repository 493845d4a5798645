import Import

/// The arguments of `countersign shadow compare`, by value.
struct ShadowOptions: Equatable {
  var publisher: Int64 = 0
  var preset = ImportPreset.plain
  /// The file with the other system's view.
  var file = ""
  /// The file of the report; `nil` is standard output.
  var report: String?
  var isJSON = false

  /// Reads the arguments behind `shadow`; returns those that are not its own, too.
  static func read(_ arguments: [String]) throws -> (options: ShadowOptions, rest: [String]) {
    guard arguments.first == "compare" else {
      throw CommandWords.Refused(description: "shadow needs an action: compare")
    }
    var (options, rest) = (ShadowOptions(), [String]())
    var (hasPublisher, hasPreset) = (false, false)
    var words = CommandWords(Array(arguments.dropFirst()))
    while let word = words.next() {
      switch word {
      case "--publisher":
        (options.publisher, hasPublisher) = (try words.value(of: word, "a publisher's id", Int64.init), true)
      case "--from":
        let names = ImportPreset.allCases.map(\.rawValue).joined(separator: ", ")
        (options.preset, hasPreset) = (try words.value(of: word, "one of: \(names)", ImportPreset.init), true)
      case "--report": options.report = try words.text(of: word, "a file")
      case "--json": options.isJSON = true
      case "--config": rest += [word, try words.text(of: word, "the path of the configuration's file")]
      default:
        if word.hasPrefix("-") || !options.file.isEmpty { rest.append(word) } else { options.file = word }
      }
    }
    guard hasPublisher, hasPreset, !options.file.isEmpty else {
      throw CommandWords.Refused(description: "shadow compare needs --publisher ID, --from PRESET and a file")
    }
    return (options, rest)
  }
}
