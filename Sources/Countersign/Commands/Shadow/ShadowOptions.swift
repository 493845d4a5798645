import Import

/// The arguments of `countersign shadow compare`, by value.
enum ShadowOptions {
  /// Reads the arguments behind `shadow`; returns those that are not its own, too.
  static func read(_ arguments: [String]) throws -> (options: VendorFileOptions, rest: [String]) {
    guard arguments.first == "compare" else {
      throw CommandWords.Refused(description: "shadow needs an action: compare")
    }
    var (options, rest) = (VendorFileOptions(), [String]())
    var words = CommandWords(Array(arguments.dropFirst()))
    while let word = words.next() { try options.take(word, &words, rest: &rest) }
    try options.require(for: "shadow compare")
    guard options.preset != .countersign else {
      let names = ImportPreset.names(ImportPreset.others).replacing("|", with: ", ")
      throw CommandWords.Refused(description: "--from needs one of: \(names)")
    }
    return (options, rest)
  }
}
