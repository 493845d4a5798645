import Domain
import Formats
import HTTPServer
import Import
import JSON

/// The members of a new import in a body.
let importMembers = ["from", "share", "tell", "skipProblems", "round"]

/// Reads what a client wants of a new import.
///
/// - Parameter presets: those of this build.
/// - Throws: ``Problem``: 400 REQ0001 or REQ0002, or 415.
func requestedImport(
  _ request: HTTPServerRequest, _ presets: ImportPresets
) throws(Problem) -> UploadedImport.Wish {
  try requireOnly([], request)
  let body = try BodyReader(try jsonBody(request), knows: importMembers)
  let preset = try body.choice("from", of: presets.names) { presets.export(named: ImportPresetName(rawValue: $0)) }
  guard let preset else { throw body.problem("from", "is missing") }
  var wish = UploadedImport.Wish(preset: preset.name)
  if let share = try body.share("share") { wish.sharePerMille = share }
  wish.tells = try body.flag("tell") ?? false
  wish.skipsProblems = try body.flag("skipProblems") ?? false
  wish.round = Int32(try body.integer("round", 1...1000) ?? 1)
  return wish
}

/// Reads the body of a start, which may be missing: whether rows that cannot work are left out.
///
/// - Throws: ``Problem``: 400 REQ0001 or REQ0002, or 415.
func requestedSkip(_ request: HTTPServerRequest) throws(Problem) -> Bool? {
  try requireOnly([], request)
  return try BodyReader(try optionalJSONBody(request), knows: ["skipProblems"]).flag("skipProblems")
}

extension BodyReader {
  /// A part of a whole, in thousandths; `nil` if the client left it out.
  fileprivate func share(_ name: String) throws(Problem) -> Int32? {
    let expected = "expected a number above 0, at most 1, such as 0.3"
    guard let number = try number(name, expected) else { return nil }
    guard number > 0, number <= 1 else { throw problem(name, expected) }
    return max(1, Int32((number * 1000).rounded()))
  }
}
