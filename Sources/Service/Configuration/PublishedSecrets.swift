import Crypto
public import Domain
import Formats

/// The secrets of the examples in `ops/config`. They are published with the source code, so whoever uses one of them is
/// open to anybody.
public enum PublishedSecrets {
  /// The SHA-256 of each file in `ops/config/secrets`.
  static let files: Set<String> = [
    "2a53e14c7edea083bcec2bed6be1af4fc56ae6bafd564a3b05231b822b2d130c",
    "2c7d0104f828062f908fa45001c05d088c1eb545bb236ce2e87063e8c40dab0a",
    "578f33e6e164a122016d1872853f22678fbdb38e8baa0a94dbe212607e46206c",
    "8d74fae129917503b8878b5c409cbfad16317581cd683d950f4af07cec08a621",
    "ad92fb097b807d7eabe6dc188655496be027eeee789d93650572fb5fd11937df",
    "ef555d4bdbe349db9850f989c5841f51305758eca9f0cfbc724f2a3d15a05b6e",
    "fe61161ed77306ee02c53d27644d6d0b936c23d0d69c65d94f0852ad75ace031",
  ]

  /// The SHA-256 of each token and key in `ops/config/publishers`.
  static let hashes: Set<String> = [
    "078ff968081353e708f848e39591b59c95b57bb24d5e4049d123eb7894c5193c",
    "55a45aa0dd6c8d18256dbb2515d7efb82740aac7f5b6a7d14fc1a31038ccf7cc",
    "6027b4c27abab3f7cb9def813959c02cafbc5633d8ff6e8fabc59c06ea59f495",
    "c56de8aa21f928e8b617e0de73fce642202d49804087af04f3bbea15ae79ff56",
  ]

  /// Says where published secrets are in use, one sentence for each place; empty if none is.
  ///
  /// - Parameters:
  ///   - publishers: the tokens and keys that open something.
  ///   - files: what the configuration was read from.
  public static func warnings(_ publishers: Publishers, _ files: ConfigurationFiles) -> [String] {
    var places = files.digests.filter { Self.files.contains(Hex.encode($0.value)) }.map(\.key.text).sorted()
    for publisher in publishers.all {
      let tokens = publisher.tokens.map { (place: "its token \($0.name)", hash: $0.hash) }
      let held = publisher.doors.all.flatMap(\.credentials).map { (place: "its \($0.key)", hash: $0.hash) }
      let used = (tokens + held).filter { hashes.contains(Hex.encode($0.hash)) }
      places += used.map { "publisher \(publisher.id), \($0.place)" }
    }
    return places.map(warning)
  }

  /// Says that a file which the configuration only names is one of the examples; `nil` if it is not. It blocks.
  public static func warning(ofFile path: String) -> String? {
    FileBytes.read(path).flatMap { files.contains(Hex.encode(SHA256.hash($0))) ? warning(path) : nil }
  }

  private static func warning(_ place: String) -> String {
    "\(place): this secret is published with the source code; replace it"
  }
}
