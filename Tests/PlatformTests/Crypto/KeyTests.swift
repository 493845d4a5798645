import TestSupport
import Testing

@testable import Crypto

/// Keys: what they sign, which texts are no keys, and which signatures they refuse.
struct KeyTests {
  private let message = Array("message".utf8)

  @Test func es256RoundTrip() throws {
    let key = try P256PrivateKey.generate()
    let signature = try key.signature(for: message)
    #expect(signature.count == 64)
    #expect(key.publicKey.isValidSignature(signature, for: message))
    #expect(!key.publicKey.isValidSignature(signature, for: message + [0]))
    #expect(!(try P256PrivateKey.generate()).publicKey.isValidSignature(signature, for: message))
  }

  /// Each half of a signature is a number. It may begin with zeros or look negative.
  @Test func signaturesOfEveryShape() throws {
    let key = try P256PrivateKey.generate()
    let publicKey = key.publicKey
    var seen: Set<String> = []
    var number = 0
    while seen.count < 6 {
      number += 1
      let message = Array("message \(number)".utf8)
      let signature = try key.signature(for: message)
      #expect(publicKey.isValidSignature(signature, for: message), "message \(number)")
      for start in [0, 32] {
        let first = signature[start]
        seen.insert("\(start): \(first == 0 ? "shorter" : first >= 0x80 ? "high" : "plain")")
      }
    }
  }

  @Test(arguments: [
    ("7f" + zeros(31), "01" + zeros(31), "30440220" + "7f" + zeros(31) + "0220" + "01" + zeros(31)),
    ("80" + zeros(31), zeros(31) + "80", "30270221" + "0080" + zeros(31) + "02020080"),
    (zeros(2) + "7f" + zeros(29), zeros(31) + "01", "3023021e" + "7f" + zeros(29) + "020101"),
    (zeros(32), String(repeating: "f", count: 64), "3026" + "020100" + "022100" + String(repeating: "f", count: 64)),
  ])
  func derForm(r: String, s: String, der: String) throws {
    let raw = try #require(Hex.decode(r + s))
    #expect(try Hex.encode(#require(ECDSASignature.der(fromRaw: raw))) == der)
    #expect(try ECDSASignature.raw(fromDER: #require(Hex.decode(der))) == raw)
  }

  private static func zeros(_ count: Int) -> String { String(repeating: "00", count: count) }

  /// A key is prepared once for its checks; then every owner uses it.
  @Test func oneKeyChecksForManyTasks() async throws {
    let key = try P256PrivateKey.generate()
    let (publicKey, message) = (key.publicKey, message)
    let signature = try key.signature(for: message)
    let answers = await withTaskGroup(of: [Bool].self) { group in
      for _ in 0..<8 {
        group.addTask {
          (0..<50).map { publicKey.isValidSignature(signature, for: $0.isMultiple(of: 2) ? message : message + [0]) }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers == Array(repeating: (0..<50).map { $0.isMultiple(of: 2) }, count: 8))
  }

  @Test func pemRoundTrip() throws {
    let key = try P256PrivateKey.generate()
    #expect(key.pem.hasPrefix("-----BEGIN PRIVATE KEY-----"))
    #expect(key.publicKey.pem.hasPrefix("-----BEGIN PUBLIC KEY-----"))
    let signature = try P256PrivateKey(pem: key.pem).signature(for: message)
    #expect(try P256PublicKey(pem: key.publicKey.pem).isValidSignature(signature, for: message))
  }

  /// Zeros, the group's order and lengths that are not 64 bytes: the forms that broken verifiers accepted.
  @Test func degenerateSignatures() throws {
    let key = try P256PrivateKey.generate().publicKey
    let order = try #require(Hex.decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"))
    for signature in [[], [0], [UInt8](repeating: 0, count: 64), order + order, order + order + [0]] {
      #expect(!key.isValidSignature(signature, for: message))
    }
  }

  @Test func everyChangedByteIsNoticed() throws {
    let key = try P256PrivateKey.generate()
    let publicKey = key.publicKey
    let signature = try key.signature(for: message)
    for index in signature.indices {
      var changed = signature
      changed[index] ^= 1
      #expect(!publicKey.isValidSignature(changed, for: message))
    }
    // A failed check leaves nothing behind for the next one.
    #expect(publicKey.isValidSignature(signature, for: message))
  }

  @Test(arguments: [
    TestKeys.p384Public, TestKeys.rsa2048, "", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
  ])
  func notAP256PublicKey(pem: String) {
    #expect(throws: CryptoError.self) { try P256PublicKey(pem: pem) }
  }

  /// An encrypted key must be an error. It must not cause a question on the terminal.
  @Test(arguments: [encrypted, TestKeys.rsa2048, "no PEM at all"])
  func notAP256PrivateKey(pem: String) {
    #expect(throws: CryptoError.self) { try P256PrivateKey(pem: pem) }
  }

  @Test func rs256() throws {
    let key = try RSAPublicKey(pem: TestKeys.rsa2048)
    let signature = try #require(Base64.decode(Self.rsaSignature))
    #expect(key.isValidPKCS1SHA256Signature(signature, for: message))
    #expect(!key.isValidPKCS1SHA256Signature(signature, for: message + [0]))
    #expect(!key.isValidPKCS1SHA256Signature([], for: message))
  }

  @Test func shortRSAKeyIsRefused() throws {
    let error = #expect(throws: CryptoError.self) { try RSAPublicKey(pem: Self.rsa1024) }
    #expect(error?.cause == "1024 bits are fewer than 2048")
    #expect(throws: CryptoError.self) { try RSAPublicKey(pem: TestKeys.p384Public) }
  }

  static let encrypted = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgeFgO0v9MYOwICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEOjgG3NuKAP1Dmwt02eNtOkEgZB6
    GUvQEQtnQGHJ9MrlTdIGjzlBPf3Ub9UXvZtduUJw6qjfranXt+x/GG75J6WK1U4N
    09y9EJ2A6hqeleLEqQm1TQ5LGzT9hviU+HvENZT4j3xk/2hKhoYwKr82BpPaQHK8
    TV6iGZ3rsHnl8YDc9vHGnRBvwsura4SKNUQ6yBj858lilWwSQv+h30t7CLGJ7cs=
    -----END ENCRYPTED PRIVATE KEY-----
    """

  static let rsa1024 = """
    -----BEGIN PUBLIC KEY-----
    MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQChkAEb32N0PV8nIrRQf9lRDQ8q
    +qbETY2WDob716sk4dUV2PnVOq02xG+Bfz9P4JHevrhOp1f8U2g4RkdOsRUqPvXR
    7MM0Jw8rlR2CpzfUYjyxs9MK0x8nNtCXatm9gDWl92iCnaRwFKHiZ1jPc0B+pt4R
    CdN9N8snJtbM5t6AFwIDAQAB
    -----END PUBLIC KEY-----
    """

  static let rsaSignature = """
    HQOPoQ4NyBMwrB/qv3tltewY3c66p2Shy7DpzWqtsbOlLIGGhybUHxRfq7PclT3ImEU3lJYcGizme2GeO4MlRdA/WLgDno57yWOi\
    f4zZL7ECSpJ1D+HXhRhAWakoKwLE/pyFQDklQ0VYvkXIUsXs+2vj12401LQFtG/OM7OSSzWjpOnMd95kHmdtpMBzPFYu5cM/Ae1Y\
    hKKB1TZmozndpu+DY2/sqY7Y/U/w9gxFUoB4jcny2NZRud4Gh6EDs6jVMEo3t563scJtRbhP6q9TZpTAyHygYN5dmWQGcXxDqQj+\
    B8YCRok7DrXLv+1ReWaDdIdV/64P1zFhuSmSCdjvnw==
    """
}
