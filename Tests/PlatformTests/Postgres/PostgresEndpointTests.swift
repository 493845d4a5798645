import Formats
import Testing

@testable import Postgres

@Suite struct PostgresEndpointTests {
  @Test func `a URL names hosts, ports, database, user and password`() throws {
    let endpoint = try PostgresEndpoint(
      url: "postgresql://o%40k:p%3Aw%2F:x@one:6000,[::1]:6001,two,[fe80::1]/our%20data", password: nil, caFile: nil)
    #expect(endpoint.user == "o@k" && endpoint.password == "p:w/:x" && endpoint.database == "our data")
    #expect(endpoint.hosts.map(\.host) == ["one", "::1", "two", "fe80::1"])
    #expect(endpoint.hosts.map(\.port) == [6000, 6001, 5432, 5432])
    #expect(endpoint.description == "one:6000,[::1]:6001,two:5432,[fe80::1]:5432/our data")
  }

  @Test func `a password of its own replaces the URL's`() throws {
    let endpoint = try PostgresEndpoint(url: "postgres://user:url@host/data", password: "own", caFile: "/ca.pem")
    #expect(endpoint.password == "own" && endpoint.caFile == "/ca.pem")
    #expect(try PostgresEndpoint(url: "postgres://user@host/data", password: nil, caFile: nil).password == nil)
  }

  @Test func `a question mark and a hash in a password are part of it, as for libpq`() throws {
    let endpoint = try PostgresEndpoint(url: "postgresql://u:a?b#c@h/d", password: nil, caFile: nil)
    #expect(endpoint.user == "u" && endpoint.password == "a?b#c" && endpoint.hosts.map(\.host) == ["h"])
  }

  @Test(arguments: [
    "", "mysql://u@h/d", "postgresql://u@h", "postgresql://u@h/", "postgresql://h/d", "postgresql://@h/d",
    "postgresql://u@/d", "postgresql://u@h,/d", "postgresql://u@h:/d", "postgresql://u@h:0/d",
    "postgresql://u@h:65536/d", "postgresql://u@h:x/d", "postgresql://u@[::1]x/d", "postgresql://u@h/d?sslmode=disable",
    "postgresql://u@h/d#x", "postgresql://%zz@h/d", "postgresql://u:%zz@h/d", "postgresql://u@h/%zz",
    "postgresql://u@h?sslmode=disable/d", "postgresql://u@h#x/d", "postgresql://u@h/d%00", "postgresql://u:a%00b@h/d",
    "postgresql://u@h:+1/d", "postgresql://u@h/d/e",
  ])
  func `a malformed URL is refused`(_ url: String) {
    #expect(throws: PostgresEndpoint.InvalidURL.self) { try PostgresEndpoint(url: url, password: nil, caFile: nil) }
  }

  @Test func `no text of a refusal or an endpoint holds the password`() throws {
    let base = "postgresql://u:secret@h"
    for url in [base + ":x/d", base, "x://u:secret@h", base + "/d?a"] {
      let error = #expect(throws: PostgresEndpoint.InvalidURL.self) {
        try PostgresEndpoint(url: url, password: nil, caFile: nil)
      }
      #expect(error.map { !"\($0)".contains("secret") } == true)
    }
    let endpoint = try PostgresEndpoint(url: "postgresql://u:secret@h/d", password: nil, caFile: nil)
    #expect(!"\(endpoint)".contains("secret"))
  }
}
