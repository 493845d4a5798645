import Import

/// The arguments of `countersign import`, by value.
struct ImportOptions {
  var source = VendorFileOptions()
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

  /// All of them.
  static let all =
    VendorFileOptions.all("whose columns the file has", ImportPresets.ofBuild.names) + [
      CommandOption("--dry-run", "only checks the file, and tells the calls and the time; connects to no server"),
      CommandOption("--share N", "the part of Apple's budget that it may use; the default is 0.3"),
      CommandOption("--tell", "publishes events and webhooks; without it, nobody is told"),
      CommandOption("--skip-problems", "leaves out rows that cannot work; otherwise one such row ends the import"),
      CommandOption("--round N", "another number asks again about rows that an earlier import has finished"),
      CommandOption("--json", "the plan, the problems and the summary as JSON; no progress"),
    ]

  /// Reads the arguments; returns those that are not its own, too.
  static func read(_ arguments: [String]) throws -> (options: ImportOptions, rest: [String]) {
    var (options, rest) = (ImportOptions(), [String]())
    var words = CommandWords(arguments)
    while let word = words.next() {
      switch word {
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
      default: try options.source.take(word, &words, rest: &rest)
      }
    }
    try options.source.require(for: "import")
    return (options, rest)
  }
}
