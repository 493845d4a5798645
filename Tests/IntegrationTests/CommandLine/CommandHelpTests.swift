import EventLoop
import Fleets
import FoundationEssentials
import TestSupport
import Testing

/// The help of the commands.
@Suite(.timeLimit(.minutes(10)))
@LoopActor
struct CommandHelpTests {
  @Test(arguments: [
    "gateway", "worker", "notifier", "console", "console-password", "simulator", "check-config", "verify", "migrate",
    "rekey",
    "test-notification", "health", "jobs", "dead", "subscribers", "export",
  ])
  func explainsItself(command: String) async throws {
    for arguments in [["--help"], ["--config", "/nowhere", "-h"]] {
      let output = FileManager.default.temporaryDirectory.appending(path: "countersign-help-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: output) }
      let process = try ChildProcess(Repository.products + "/countersign", [command] + arguments, output: output.path)
      let status = try await process.ended()
      let text = String(decoding: (try? Data(contentsOf: output)) ?? Data(), as: UTF8.self)
      #expect(status == 0 && text.hasPrefix("usage: countersign \(command) "), "\(arguments): \(text)")
    }
  }

  @Test func `the version names the commit and each C library`() async throws {
    let output = FileManager.default.temporaryDirectory.appending(path: "countersign-version-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: output) }
    let process = try ChildProcess(Repository.products + "/countersign", ["--version"], output: output.path)
    #expect(try await process.ended() == 0)
    let lines = String(decoding: try Data(contentsOf: output), as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(lines.first?.wholeMatch(of: /countersign \d+\.\d+\.\d+/) != nil)
    let rest = lines.dropFirst().map { $0.split(separator: " ").map(String.init) }
    #expect(
      rest.map(\.first) == [
        "commit", "hiredis", "jemalloc", "libcurl", "libmicrohttpd", "libpq", "librabbitmq", "libuv", "nghttp2",
        "openssl",
      ])
    for line in rest.dropFirst() where line.first != "openssl" {
      #expect(line.count == 2 && line[1].wholeMatch(of: /\d+(\.\d+)+/) != nil, "\(line)")
    }
    #expect(rest.last?.dropFirst().first == "OpenSSL")
  }

  @Test func `the help names --help and --version`() async throws {
    let (status, text) = try await bash("\(Repository.products)/countersign --help")
    #expect(status == 0)
    for option in ["--help", "--version"] { #expect(text.contains("\n  \(option) "), "\(text)") }
  }

  @Test(arguments: [
    ("chek-config", "check-config"), ("workr", "worker"), ("--versoin", "--version"), ("--hlep", "--help"),
  ])
  func `a wrong word gets the one that was meant`(word: String, expected: String) async throws {
    let (status, text) = try await bash("\(Repository.products)/countersign \(word) 2>&1")
    #expect(status == 2 && text.contains("no such command: \(word); did you mean \(expected)?"), "\(text)")
  }

  @Test(arguments: ["--help", "--version", "nonsense", "check-config --config /nowhere", "verify /nowhere"])
  func `a terminal gets no colours`(words: String) async throws {
    // script gives the command a terminal for its output.
    let (_, text) = try await bash(
      "script --quiet --return --command '\(Repository.products)/countersign \(words)' /dev/null </dev/null")
    #expect(!text.isEmpty && !text.contains("\u{1B}"), "\(text)")
  }

  @Test(arguments: [
    ("check-config --describe --config /nowhere", "--describe: it does not go with the other arguments"),
    ("check-config --descrbe", "--descrbe; did you mean --describe?"),
  ])
  func `an option that the command has is never its own correction`(words: String, expected: String) async throws {
    let (status, text) = try await bash("\(Repository.products)/countersign \(words) 2>&1")
    #expect(status == 2 && text.contains("unusable argument \(expected)\n"), "\(text)")
  }

  @Test func `check-config describes each key as an object`() async throws {
    struct Key: Decodable {
      let file, key, type, meaning: String
      let isRequired: Bool
      let environmentVariable, list: String?
      let `default`: String?
    }
    let (status, text) = try await bash("\(Repository.products)/countersign check-config --json --describe")
    let keys = try text.split(separator: "\n").map { try JSONDecoder().decode(Key.self, from: Data($0.utf8)) }
    #expect(status == 0)
    let url = try #require(keys.first { $0.key == "rabbitmq.url" })
    #expect(url.environmentVariable == "COUNTERSIGN_RABBITMQ_URL" && url.type == "a string" && url.list == nil)
    let app = try #require(keys.first { $0.list == "apps" && $0.key == "bundleId" })
    #expect(app.file == "publisher" && app.isRequired && app.default == nil && app.environmentVariable == nil)
    #expect(keys.contains { $0.file == "configuration" && $0.key == "traces.ratio" && $0.default == "0.01" })
  }

  /// What a shell prints for a script.
  private func bash(_ script: String) async throws -> (status: Int32, text: String) {
    let output = FileManager.default.temporaryDirectory.appending(path: "countersign-bash-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: output) }
    let process = try ChildProcess("/bin/bash", ["-euc", script], output: output.path)
    let status = try await process.ended()
    return (status, String(decoding: try Data(contentsOf: output), as: UTF8.self))
  }

  @Test(arguments: [
    ("", ["gateway", "jobs", "verify", "--version"]), ("ga", ["gateway"]), ("jobs ", ["list", "retry", "--cause"]),
    ("dead ", ["list", "show", "retry", "bury", "erase", "--kind"]),
    ("jobs list --ca", ["--cause"]), ("verify --ba", ["--batch"]), ("gateway --config /etc/passw", ["/etc/passwd"]),
    ("verify --root /etc/passw", ["/etc/passwd"]), ("verify /etc/passw", ["/etc/passwd"]),
    ("import --report /etc/passw", ["/etc/passwd"]), ("import /etc/passw", ["/etc/passwd"]),
    ("shadow compare /etc/passw", ["/etc/passwd"]), ("export --output /etc/passw", ["/etc/passwd"]),
    ("shadow compare --rep", ["--report"]), ("jobs list /etc/passw", []), ("nonsense --", []),
  ])
  func `bash completes commands, actions, options and files`(line: String, expected: [String]) async throws {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map { "'\($0)'" }.joined(separator: " ")
    let (status, text) = try await bash(
      """
      source <(\(Repository.products)/countersign completion bash)
      COMP_WORDS=(countersign \(words)) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _countersign
      ((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
      """)
    let found = text.split(separator: "\n").map(String.init)
    #expect(status == 0 && Set(expected).isSubset(of: found), "\(text)")
    if expected.count < 2 { #expect(found.filter { $0 != "/etc/passwd-" } == expected) }
  }

  @Test func `the manual page has every command, and groff finds nothing to warn of`() async throws {
    // A terminal shows bold letters by an escape sequence, or by the letter twice.
    let (status, text) = try await bash(
      #"""
      \#(Repository.products)/countersign manual | groff -man -Tutf8 -ww 2>&1 |
        sed -E $'s/\x1b\\[[0-9;]*m//g; s/.\x08//g'
      """#)
    #expect(status == 0 && !text.contains("warning"), "\(text)")
    for command in ["gateway", "check-config", "completion", "--version"] {
      #expect(text.contains("\n       \(command)"))
    }
  }

  @Test(arguments: [
    (["dead"], "needs an action"), (["dead", "nonsense"], "needs an action"),
    (["dead", "retry"], "retry needs --kind"), (["dead", "show"], "show needs --kind"),
    (["dead", "bury", "--kind", "jobs"], "bury needs a filter, or --all"),
    (["dead", "list", "--kind", "cakes"], "--kind needs one of"),
    (["dead", "list", "--cause", "x"], "--cause needs one of"),
    (["dead", "list", "--customer", "kim"], "--customer needs --publisher"),
    (["dead", "list", "--limit", "0"], "--limit needs a number"), (["dead", "list", "--id", ""], "--id needs"),
    (["dead", "list", "--older-than", "15"], "--older-than needs a time"),
    (["dead", "list", "--as", "a\nb"], "--as needs"),
    (["dead", "erase", "--kind", "notifications"], "a notification names no customer"),
    (["dead", "erase", "--cause", "malformed"], "erase takes no filter but"),
    (["dead", "list", "--kind", "notifications", "--endpoint", "e"], "no --customer and no --endpoint"),
    (["dead", "list", "--nonsense"], "unusable argument"), (["jobs", "bury"], "list, show or retry"),
    (["jobs", "list", "--id", ""], "--id needs"), (["export"], "export needs"),
    (["export", "--publisher", "x"], "--publisher needs"), (["export", "--output", ""], "--output needs"),
  ])
  func `a command says what is wrong with its arguments`(words: [String], expected: String) async throws {
    let output = FileManager.default.temporaryDirectory.appending(path: "countersign-words-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: output) }
    let process = try ChildProcess(
      Repository.products + "/countersign", words + ["--config", "/nowhere"], output: output.path)
    #expect(try await process.ended() == 2)
    let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
    #expect(text.contains(expected), "\(text)")
  }
}
