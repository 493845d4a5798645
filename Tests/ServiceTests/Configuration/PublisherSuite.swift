import Configuration
import Crypto
import Domain
import RoleSupport
import Testing

/// A folder with a publisher's file and the files that it names.
protocol PublisherSuite {
  var folder: ConfigurationFolder { get }
}

extension PublisherSuite {
  /// Makes the folder.
  static func makeFolder() throws -> ConfigurationFolder {
    let folder = try ConfigurationFolder()
    try folder.write(try P256PrivateKey.generate().pem, to: "publishers/key.p8")
    try folder.write("whsec_" + Base64.encode(Array(repeating: 7, count: 24)) + "\n", to: "publishers/webhook.secret")
    try folder.write("0123456789abcdef0123456789abcdef\n", to: "publishers/hs256.secret")
    return folder
  }

  static var hash: String { String(repeating: "0a", count: 32) }
  static var app: String {
    #"{"bundleId": "com.a", "appAppleId": 5, "issuerId": "i", "keyId": "k", "privateKeyFile": "key.p8"}"#
  }
  static var webhook: String { #"{"id": "w", "url": "https://h/x?y=1", "secretFile": "webhook.secret"}"# }

  /// Returns the mistakes of one publisher's file with these members.
  func mistakes(_ members: String) throws -> [String] {
    try folder.write(#"{"publisherId": 7, \#(members)}"#, to: "publishers/a.json")
    return folder.publisherMistakes()
  }

  func publisher(_ members: String) throws -> Publisher {
    try folder.write(#"{"publisherId": 7, \#(members)}"#, to: "publishers/a.json")
    return try #require(try folder.publishers()[7])
  }
}
