import Domain
import Ledger

/// The arguments of `countersign export`, by value.
struct ExportOptions: Equatable {
  /// The view that is exported as CSV; `nil` for all of a publisher.
  var view: ReportingView?
  /// Whose rows; `nil` for everybody's.
  var publisher: PublisherId?
  /// The file that gets the lines; `nil` is standard output.
  var output: String?
  /// Whether the file is there already, and the export goes on.
  var resumes = false
  /// Whether it takes all the time of the ledger that it can get.
  var isFast = false
  var isJSON = false

  /// All of them.
  static let all = [
    CommandOption.configuration, CommandOption("--publisher ID", "the publisher; with --reporting, the default is all"),
    CommandOption(
      "--reporting VIEW",
      "the view that it writes as CSV: \(ReportingView.allCases.map(\.rawValue).joined(separator: ", "))"),
    CommandOption("--output FILE", "the file; the default is standard output"),
    CommandOption("--resume", "goes on with a file that was broken off"),
    CommandOption("--fast", "leaves out the pauses that spare the ledger"),
    CommandOption("--json", "the counts of the lines as JSON"),
  ]

  /// Reads the arguments; returns those that are not its own, too.
  static func read(_ arguments: [String]) throws -> (options: ExportOptions, rest: [String]) {
    var (options, rest) = (ExportOptions(), [String]())
    var words = CommandWords(arguments)
    while let word = words.next() {
      switch word {
      case "--reporting":
        options.view = try words.choice(of: word, ReportingView.allCases.map(\.rawValue), ReportingView.init)
      case "--publisher": options.publisher = try words.value(of: word, "a publisher's id", PublisherId.init)
      case "--output": options.output = try words.text(of: word, "a file")
      case "--resume": options.resumes = true
      case "--fast": options.isFast = true
      case "--json": options.isJSON = true
      default: rest.append(word)
      }
    }
    if let defect = options.defect { throw CommandWords.Refused(description: defect) }
    return (options, rest)
  }

  /// Why the options do not go together; `nil` if they do.
  private var defect: String? {
    if view == nil, publisher == nil { return "export needs --reporting VIEW or --publisher ID" }
    if view != nil, resumes || isFast { return "--resume and --fast are for --publisher without --reporting" }
    return resumes && output == nil ? "--resume needs --output" : nil
  }
}
