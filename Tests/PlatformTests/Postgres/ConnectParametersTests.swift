import Formats
import Testing

@testable import Postgres

@Suite struct ConnectParametersTests {
  private func parameters(caFile: String?, libraryVersion: Int32 = 150_020) throws -> [String: String] {
    let endpoint = try PostgresEndpoint(url: "postgresql://u:secret@h/d", password: nil, caFile: caFile)
    return Dictionary(
      uniqueKeysWithValues: ConnectParameters.parameters(
        endpoint, endpoint.hosts[0], address: "10.0.0.1", libraryVersion: libraryVersion
      ).map { ($0.name, $0.value) })
  }

  @Test func `libpq looks up nothing by itself`() throws {
    let parameters = try parameters(caFile: nil)
    #expect(parameters["host"] == "h" && parameters["hostaddr"] == "10.0.0.1" && parameters["port"] == "5432")
    #expect(parameters["gssencmode"] == "disable" && parameters["passfile"] == "/dev/null/none")
    #expect(parameters["target_session_attrs"] == "read-write")
    #expect(parameters["ssl_min_protocol_version"] == "TLSv1.2")
  }

  @Test func `a file of authorities demands a verified server`() throws {
    let parameters = try parameters(caFile: "/ca.pem")
    #expect(parameters["sslmode"] == "verify-full" && parameters["sslrootcert"] == "/ca.pem")
    #expect(parameters["channel_binding"] == "require")
  }

  @Test func `without one, libpq encrypts if it can do so without a fault`() throws {
    #expect(try parameters(caFile: nil)["sslmode"] == "prefer")
    #expect(try parameters(caFile: nil, libraryVersion: 150_018)["sslmode"] == "disable")
  }

  @Test(arguments: [
    (150_018, false), (150_019, true), (150_020, true), (140_030, false), (160_014, false), (160_015, true),
    (170_010, false), (170_011, true), (180_004, false), (180_005, true), (190_000, true),
  ])
  func `the versions of August 2026 and later are safe with TLS`(_ version: Int32, _ isSafe: Bool) {
    #expect(LibraryVersion.isSafeWithTLS(version) == isSafe)
  }

  @Test func `a version has a text`() { #expect(LibraryVersion.text(150_020) == "15.20") }
}
