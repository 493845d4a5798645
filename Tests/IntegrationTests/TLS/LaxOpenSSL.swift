import EventLoop
import Fleets
import FoundationEssentials

/// A system whose OpenSSL allows old versions of TLS, for the processes that it runs.
@LoopActor
struct LaxOpenSSL {
  private let folder: String

  init() throws {
    folder = FileManager.default.temporaryDirectory.path + "/lax-openssl-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try write(
      "openssl.cnf",
      """
      openssl_conf = all
      [all]
      ssl_conf = modules
      [modules]
      system_default = lax
      [lax]
      MinProtocol = TLSv1
      CipherString = DEFAULT:@SECLEVEL=0

      """)
    try write("countersign.json", "{}")
  }

  func remove() { try? FileManager.default.removeItem(atPath: folder) }

  private func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
  }

  /// Runs a program to its end.
  func run(
    _ program: String, _ arguments: String..., with variables: [String: String] = [:]
  ) async throws -> (status: Int32, text: String) {
    let output = "\(folder)/output-\(UInt64.random(in: 0 ... .max))"
    let lax = ["PATH": "/usr/bin:/bin", "OPENSSL_CONF": folder + "/openssl.cnf"]
    let environment = variables.merging(lax) { mine, _ in mine }
    let more = program.hasSuffix("/countersign") ? ["--config", folder + "/countersign.json"] : []
    let process = try ChildProcess(program, arguments + more, environment: environment, output: output)
    let status = try await process.ended()
    return (status, String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self))
  }
}
