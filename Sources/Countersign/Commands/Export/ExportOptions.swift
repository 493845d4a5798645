import Ledger

/// The arguments of `countersign export`, by value.
struct ExportOptions: Equatable {
  /// The view that is exported as CSV; `nil` for all of a publisher.
  var view: ReportingView?
  /// Whose rows; `nil` for everybody's.
  var publisher: Int64?
  /// The file that gets the lines; `nil` is standard output.
  var output: String?
  /// Whether the file is there already, and the export goes on.
  var resumes = false
  /// Whether it takes all the time of the ledger that it can get.
  var isFast = false
  var isJSON = false

  /// Reads the arguments; returns the others, too.
  static func read(_ arguments: [String]) throws -> (options: ExportOptions, rest: [String]) {
    var (options, rest) = (ExportOptions(), [String]())
    var words = CommandWords(arguments)
    while let word = words.next() {
      switch word {
      case "--reporting":
        let names = ReportingView.allCases.map(\.rawValue).joined(separator: ", ")
        options.view = try words.value(of: word, "one of: \(names)", ReportingView.init)
      case "--publisher": options.publisher = try words.value(of: word, "a publisher's id", Int64.init)
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
