import Crypto
import Foundation
import Testing

@testable import AppStore

/// Roots from files: a file that replaces the built-in roots must be readable in full, or the verifier must not use it
/// at all.
struct TrustedRootsTests {
  private func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "countersign-root-\(UUID().uuidString)")
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    try body(file.path)
  }

  private func fingerprints(_ bytes: [UInt8]) throws -> [[UInt8]] {
    var result: [[UInt8]] = []
    try withFile(bytes) { result = try TrustedRoots(files: [$0, $0]).certificates.map(\.sha256) }
    return result
  }

  @Test func forms() throws {
    let roots = TrustedRoots.apple.certificates
    #expect(try fingerprints(roots[0].der) == [roots[0].sha256, roots[0].sha256])
    let pem = Array(("# a comment\n" + roots[1].pem + "\n" + roots[2].pem).utf8)
    #expect(try fingerprints(pem) == [roots[1], roots[2], roots[1], roots[2]].map(\.sha256))
  }

  @Test func unreadable() throws {
    let root = TrustedRoots.apple.certificates[0]
    for bytes in [[], Array("no certificate".utf8), Array(root.der.dropLast()), Array(root.pem.utf8.dropFirst(100))] {
      try withFile(bytes) { file in
        #expect(throws: TrustedRoots.Unreadable.self) { try TrustedRoots(files: [file]) }
      }
    }
    #expect(throws: TrustedRoots.Unreadable.self) { try TrustedRoots(files: []) }
    let missing = #expect(throws: TrustedRoots.Unreadable.self) { try TrustedRoots(files: ["/nowhere/root.cer"]) }
    #expect(missing?.description == "/nowhere/root.cer cannot be read")
  }
}
