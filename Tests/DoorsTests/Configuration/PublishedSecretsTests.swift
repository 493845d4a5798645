import Crypto
import Doors
import FoundationEssentials
import RoleSupport
import TestSupport
import Testing

@testable import Configuration

/// Whoever copies the examples and replaces nothing is told.
struct PublishedSecretsTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder(doors: DoorRegistry.all) }

  private static func example(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: Repository.root + "/ops/config/" + name)))
  }

  @Test func `each secret of the examples is known`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Repository.root + "/ops/config/secrets")
      .filter { $0.hasPrefix("example-") }
    #expect(names.count >= 6)
    for name in names {
      let digest = Hex.encode(SHA256.hash(try Self.example("secrets/" + name)))
      #expect(PublishedSecrets.files.contains(digest), "\(name)")
    }
    let text = String(decoding: try Self.example("publishers/example.json"), as: UTF8.self)
    let hashes = text.split { !$0.isHexDigit }.filter { $0.utf8.count == 64 }.map(String.init)
    #expect(hashes.count == 4 && PublishedSecrets.hashes.isSuperset(of: hashes))
  }

  @Test func `the examples are warned of, and other secrets are not`() throws {
    let example = String(decoding: try Self.example("publishers/example.json"), as: UTF8.self)
      .replacing(#""enabled": false"#, with: #""enabled": true"#)
    for name in ["AuthKey.p8", "customer-token.secret", "webhook.secret"] {
      try FileManager.default.createDirectory(atPath: folder.path + "/secrets", withIntermediateDirectories: true)
      try folder.write(try Self.example("secrets/example-" + name), to: "secrets/example-" + name)
    }
    try folder.write(example, to: "publishers/example.json")
    var loader = folder.loader()
    var warnings = PublishedSecrets.warnings(try loader.publishers(in: folder.path + "/publishers"), loader.files)
    // Three files, a token, two keys of iaptic's and a token of Mbaasy's.
    #expect(warnings.count == 7, "\(warnings)")
    #expect(warnings.allSatisfy { $0.contains("published with the source code") })
    #expect(warnings.contains { $0.hasPrefix("publisher 1001, its token token-078ff968") })

    for name in ["customer-token.secret", "webhook.secret"] {
      let own =
        name == "webhook.secret"
        ? "whsec_" + Base64.encode([UInt8](repeating: 7, count: 32)) : "a secret of our own, long enough for HS256"
      try folder.write(own, to: "secrets/example-" + name)
    }
    try folder.write(try P256PrivateKey.generate().pem, to: "secrets/example-AuthKey.p8")
    let own = example.split(separator: "\"", omittingEmptySubsequences: false).map { part in
      part.utf8.count == 64 && part.allSatisfy(\.isHexDigit) ? String(part.reversed()) : String(part)
    }.joined(separator: "\"")
    try folder.write(own, to: "publishers/example.json")
    loader = folder.loader()
    warnings = PublishedSecrets.warnings(try loader.publishers(in: folder.path + "/publishers"), loader.files)
    #expect(warnings.isEmpty, "\(warnings)")
  }
}
