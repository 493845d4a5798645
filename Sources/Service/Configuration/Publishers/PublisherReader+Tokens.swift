import Crypto
import Domain
import Formats

/// The tokens of the publisher's backends.
extension PublisherReader {
  /// - Parameter unnamed: the tokens of `tokenHashes`.
  func tokens(_ readers: [SettingsReader], beside unnamed: [[UInt8]]) -> [PublisherToken] {
    let tokens = readers.compactMap(token)
    let derived = Set(unnamed).map { PublisherToken(unnamed: $0) }
    for (name, all) in Dictionary(grouping: derived + tokens, by: { ExactText($0.name) }) where all.count > 1 {
      reader.note("tokens", "two tokens have the name \"\(name)\"")
    }
    for (_, all) in Dictionary(grouping: derived + tokens, by: \.hash) where all.count > 1 {
      let names = all.map { "\"\($0.name)\"" }.sorted().joined(separator: " and ")
      reader.note("tokens", "\(names) are one token, expected each token once")
    }
    return tokens
  }

  private func token(_ reader: SettingsReader) -> PublisherToken? {
    let name = reader.string(
      "name", nil,
      "Names the token in the audit log: 1 to \(PublisherToken.longestName) letters, digits, `.`, `_`, `-`.",
      isSecret: true)
    if !name.isEmpty, !PublisherToken.isName(name) {
      reader.note(
        "name", "expected 1 to \(PublisherToken.longestName) ASCII letters, digits, \".\", \"_\" or \"-\"")
    }
    let hash = hash(of: reader)
    let names = reader.strings(
      "scopes", nil,
      "The parts of the API that the token may use: "
        + TokenScope.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ") + " ([scopes](scopes.md)).")
    let scopes = names.compactMap { name in TokenScope.allCases.first { $0.rawValue.isExactly(name) } }
    if scopes.isEmpty || scopes.count < names.count || Set(scopes).count < scopes.count {
      let all = TokenScope.allCases.map(\.rawValue).joined(separator: ", ")
      reader.note("scopes", "expected a list of \(all), at least one of them and none twice")
    }
    guard let hash, PublisherToken.isName(name) else { return nil }  // noted above
    return PublisherToken(name: name, hash: hash, scopes: Set(scopes))
  }

  private func hash(of reader: SettingsReader) -> [UInt8]? {
    let text = reader.optionalString(
      "tokenHash", "SHA-256 of the token, in hexadecimal. Either this or `tokenFile`.", isSecret: true)
    let token = reader.secret(
      "tokenFile", isRequired: false, "File with the token, at least 16 visible ASCII characters.")
    switch (text, token) {
    case (let text?, nil): return hash(text, "tokenHash", of: "token", reader)
    case (nil, let token?):
      guard token.utf8.count >= 16, token.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
        reader.note("tokenFile", "expected a file with at least 16 visible ASCII characters")
        return nil
      }
      return SHA256.hash(Array(token.utf8))
    case (nil, nil):
      // The reader has noted a file that it cannot read.
      if !reader.mistakes.contains(where: { ["tokenHash", "tokenFile"].contains($0.key) }) {
        reader.note("tokenHash", "is missing, expected it or tokenFile")
      }
      return nil
    case (.some, .some):
      reader.note("tokenFile", "is set beside tokenHash, expected one of them")
      return nil
    }
  }
}
