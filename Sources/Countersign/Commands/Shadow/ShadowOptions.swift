import Domain
import Import

/// The arguments of `countersign shadow compare`, by value.
struct ShadowOptions {
  /// What the command does.
  enum Action: String, CaseIterable {
    case compare
  }

  /// The other system's view.
  enum Source {
    /// An export.
    case export(ExportColumns)
    /// Recorded webhook bodies.
    case webhooks(any RecordedBodyReader)

    /// Reads a name of ``names``.
    init?(_ name: String) {
      let presets = ImportPresets.ofBuild
      if let reader = presets.bodies.first(where: { $0.name == name }) {
        self = .webhooks(reader)
      } else if let preset = presets.export(named: ImportPresetName(rawValue: name)), preset.name != .countersign {
        self = .export(preset)
      } else {
        return nil
      }
    }

    /// All names.
    static let names = ImportPresets.ofBuild.others.map(\.name.rawValue) + ImportPresets.ofBuild.bodies.map(\.name)
  }

  var file = VendorFileOptions()
  /// `nil` while no argument names one.
  private var named: Source?

  /// Whose file it is.
  var source: Source { named ?? .export(file.preset) }

  /// Reads the arguments behind `shadow`; returns the others, too.
  static func read(_ arguments: [String]) throws -> (options: ShadowOptions, rest: [String]) {
    var (options, rest) = (ShadowOptions(), [String]())
    var words = CommandWords(arguments)
    let _: Action = try words.first("an action", for: "shadow")
    while let word = words.next() {
      guard word == "--from" else {
        try options.file.take(word, &words, rest: &rest)
        continue
      }
      let source = try words.choice(of: word, Source.names, Source.init)
      options.named = source
      // The columns of an export; webhook bodies have none.
      if case .export(let preset) = source { options.file.take(preset) } else { options.file.take(.plain) }
    }
    try options.file.require(for: "shadow compare")
    return (options, rest)
  }
}
