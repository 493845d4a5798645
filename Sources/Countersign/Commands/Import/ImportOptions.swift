import Import

/// The arguments of `countersign import`, by value.
struct ImportOptions: Equatable {
  var publisher: Int64 = 0
  var preset = ImportPreset.plain
  /// The file with the rows.
  var file = ""
  /// Whether it only tells what it would do.
  var isDryRun = false
  /// The part of Apple's budget that it may use.
  var share = 0.3
  /// Whether subscribers are told.
  var tells = false
  /// Whether rows that cannot work are left out.
  var skipsProblems = false
  /// Another pass over rows that were imported before has another number.
  var round = 1
  /// The file of the report; `nil` is standard output.
  var report: String?
  var isJSON = false

  /// Reads the arguments; returns those that are not its own, too.
  static func read(_ arguments: [String]) throws -> (options: ImportOptions, rest: [String]) {
    var (options, rest) = (ImportOptions(), [String]())
    var (hasPublisher, hasPreset) = (false, false)
    var words = CommandWords(arguments)
    while let word = words.next() {
      switch word {
      case "--publisher":
        (options.publisher, hasPublisher) = (try words.value(of: word, "a publisher's id", Int64.init), true)
      case "--from":
        let names = ImportPreset.allCases.map(\.rawValue).joined(separator: ", ")
        (options.preset, hasPreset) = (try words.value(of: word, "one of: \(names)", ImportPreset.init), true)
      case "--dry-run": options.isDryRun = true
      case "--share":
        options.share = try words.value(of: word, "a number above 0, at most 1, such as 0.3") { text in
          Double(text).flatMap { $0 > 0 && $0 <= 1 ? max($0, 0.001) : nil }
        }
      case "--tell": options.tells = true
      case "--skip-problems": options.skipsProblems = true
      case "--round":
        options.round = try words.value(of: word, "a number from 1 to 1000") { text in
          Int(text).flatMap { (1...1000).contains($0) ? $0 : nil }
        }
      case "--report": options.report = try words.text(of: word, "a file")
      case "--json": options.isJSON = true
      case "--config": rest += [word, try words.text(of: word, "the path of the configuration's file")]
      default:
        if word.hasPrefix("-") || !options.file.isEmpty { rest.append(word) } else { options.file = word }
      }
    }
    guard hasPublisher, hasPreset, !options.file.isEmpty else {
      throw CommandWords.Refused(description: "import needs --publisher ID, --from PRESET and a file")
    }
    return (options, rest)
  }
}
