import Domain
import Import

/// The arguments of every command that reads the export of another system, by value.
struct VendorFileOptions {
  var publisher: PublisherId = 0
  var preset = ExportColumns.plain
  /// The file with the rows.
  var file = ""
  /// The file of the report; `nil` is standard output.
  var report: String?
  var isJSON = false
  private var hasPublisher = false
  private var hasPreset = false

  /// The options that such commands share.
  ///
  /// - Parameters:
  ///   - meaning: of the preset.
  ///   - presets: their names.
  static func all(_ meaning: String, _ presets: [String]) -> [CommandOption] {
    [
      .configuration, .publisher,
      CommandOption("--from PRESET", "\(meaning): \(presets.joined(separator: ", "))"),
      CommandOption("--report FILE", "the file of the report; the default is standard output"),
    ]
  }

  /// Takes a word with its value, unless it is for the configuration or for nobody: such words go to the rest.
  mutating func take(_ word: String, _ words: inout CommandWords, rest: inout [String]) throws {
    switch word {
    case "--publisher":
      (publisher, hasPublisher) = (try words.value(of: word, "a publisher's id", PublisherId.init), true)
    case "--from":
      let presets = ImportPresets.ofBuild
      take(try words.choice(of: word, presets.names) { presets.export(named: ImportPresetName(rawValue: $0)) })
    case "--report": report = try words.text(of: word, "a file")
    case "--json": isJSON = true
    case "--config": rest += [word, try words.text(of: word, "the path of the configuration's file")]
    default:
      if word.hasPrefix("-") || !file.isEmpty { rest.append(word) } else { file = word }
    }
  }

  /// Takes the preset.
  mutating func take(_ preset: ExportColumns) { (self.preset, hasPreset) = (preset, true) }

  /// Refuses arguments that lack something.
  ///
  /// - Parameter command: such as `import`.
  func require(for command: String) throws {
    guard hasPublisher, hasPreset, !file.isEmpty else {
      throw CommandWords.Refused(description: "\(command) needs --publisher ID, --from PRESET and a file")
    }
  }

  /// Why the file cannot be read.
  struct Unreadable: Error, CustomStringConvertible {
    let description: String
  }

  /// Reads the file line by line.
  ///
  /// - Parameter offers: the publisher's; `nil` if nobody gives the file's grants.
  /// - Throws: ``Unreadable``, or `LineInput.Unopened`.
  func read(_ verifier: ImportEvidence, offers: OfferCatalog? = nil) throws -> ImportFile {
    try reading { ImportFile(preset: preset, verifier: verifier, offers: offers, read: $0) }
  }

  /// Reads the file line by line.
  ///
  /// - Parameter body: gets the next line, or `nil` at the end. A line that is too long is a problem of the file.
  /// - Throws: ``Unreadable``.
  func reading<Result>(_ body: (@escaping () throws(ImportProblem) -> [UInt8]?) -> Result) throws -> Result {
    let input = try LineInput(file: file)
    let found = body { () throws(ImportProblem) -> [UInt8]? in
      if let line = input.next() { return line }
      if let long = input.tooLong { throw long.problem }
      return nil
    }
    if let failure = input.failure, input.tooLong == nil {
      throw Unreadable(description: "cannot read \(file): \(failure)")
    }
    return found
  }
}
