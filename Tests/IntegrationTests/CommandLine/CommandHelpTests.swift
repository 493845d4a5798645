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
    "rekey", "test-notification", "health", "jobs", "dead", "subscribers", "export", "import", "shadow", "declare",
    "completion", "manual",
  ])
  func explainsItself(command: String) async throws {
    for arguments in [["--help"], ["--config", "/nowhere", "-h"]] {
      let output = FileManager.default.temporaryDirectory.appending(path: "countersign-help-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: output) }
      let process = try ChildProcess(Repository.products + "/countersign", [command] + arguments, output: output.path)
      let status = try await process.ended()
      let text = String(decoding: (try? Data(contentsOf: output)) ?? Data(), as: UTF8.self)
      let first = text.prefix { $0 != "\n" }
      #expect(status == 0 && "\(first) ".hasPrefix("usage: countersign \(command) "), "\(arguments): \(text)")
      for line in text.split(separator: "\n") { #expect(line.count <= 100, "\(line)") }
      // Only a command that reads the configuration speaks of it.
      let reads = !["console-password", "verify", "completion", "manual"].contains(command)
      #expect(text.contains("--config FILE") == reads && text.contains("Any key of") == reads, "\(text)")
    }
    let (status, text) = try await bash("\(Repository.products)/countersign help \(command)")
    let (_, help) = try await bash("\(Repository.products)/countersign \(command) --help")
    #expect(status == 0 && text == help)
  }

  @Test(arguments: [
    ("dead", "--kind KIND", "deliveries or notifications"), ("dead", "--as NAME", "audit log"),
    ("jobs", "--older-than TIME", "at least this long ago"), ("import", "--skip-problems", "leaves out rows"),
    ("export", "--reporting VIEW", "entitlements"), ("verify", "--batch", "one JSON request"),
    ("shadow", "--from PRESET", "revenuecat-webhooks"), ("console-password", "--role ROLE", "viewer"),
    ("migrate", "--check", "changes nothing"), ("subscribers", "--forget NAME", "deletes"),
  ])
  func `each option has a line of its own, in the help and in the manual page`(
    command: String, option: String, meaning: String
  ) async throws {
    let (_, help) = try await bash("\(Repository.products)/countersign \(command) --help")
    let line = try #require(help.split(separator: "\n").first { $0.hasPrefix("  \(option) ") }, "\(help)")
    #expect(help.contains(meaning) && line.count > option.count + 4)
    let (_, page) = try await bash("\(Repository.products)/countersign manual")
    #expect(page.contains("\n.B \(option.replacing("-", with: "\\-"))\n"), "\(page)")
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
    ("GATEWAY", "gateway"), ("help gatway", "gateway"),
  ])
  func `a wrong word gets the one that was meant`(word: String, expected: String) async throws {
    let (status, text) = try await bash("\(Repository.products)/countersign \(word) 2>&1")
    let wrong = word.split(separator: " ").last ?? ""
    #expect(status == 2 && text.contains("no such command: \(wrong); did you mean \(expected)?"), "\(text)")
  }

  /// What is wrong with a word comes before what is missing.
  @Test(arguments: [
    ("verify --bundel-id x", "countersign verify: there is no option --bundel-id; did you mean --bundle-id?"),
    ("verify --kind transactoin x", "there is no kind transactoin; did you mean transaction?"),
    ("verify --environment production x", "there is no environment production; did you mean Production?"),
    ("verify /nope", "countersign verify: cannot open /nope: there is no such file"),
    ("verify --root /nope x", "--root: /nope cannot be read: there is no such file"),
    ("console-password --nam kim", "there is no option --nam; did you mean --name?"),
    (
      "console-password --name kim --role suport", "--role needs one of: viewer, support, operator, not suport; did you"
    ),
    ("export --publsher 7", "there is no option --publsher; did you mean --publisher?"),
    ("export --reporting refund --config x", "not refund; did you mean refunds?"),
    ("shadow compare --form plain", "there is no option --form; did you mean --from?"),
    ("shadow compre", "shadow needs an action: compare, not compre; did you mean compare?"),
    ("test-notification --ap x", "there is no option --ap; did you mean --app?"),
    ("test-notification --app x --environment sandbx --config x", "did you mean sandbox?"),
    ("dead lst", "dead needs an action: list, show, retry, bury or erase, not lst; did you mean list?"),
    ("dead list --kind job", "--kind needs one of: jobs, deliveries, notifications, not job; did you mean jobs?"),
    ("dead --kind=jobs list --cause abandond", "did you mean abandoned?"),
    ("health gatewy --config x", "not gatewy; did you mean gateway?"),
    ("import --from plan --config x", "not plan; did you mean plain?"),
    ("gateway --confg x", "countersign gateway: there is no option --confg; did you mean --config?"),
    ("gateway --config", "countersign gateway: --config needs the path of a file"),
    ("gateway --config ''", "countersign gateway: --config needs the path of a file"),
    ("gateway --config=", "countersign gateway: --config needs the path of a file"),
    ("check-config --config --json", "countersign check-config: --config needs the path of a file"),
    ("check-config --json=1 --config x", "--json takes no value"),
    ("check-config --describe --config x", "--describe does not go together with the other arguments"),
    ("gateway", "countersign gateway: --config FILE is missing"),
    ("gateway --config nope.json", "cannot be read: there is no such file; check its path"),
    ("gateway --config x y", "countersign gateway: unusable argument y"),
    ("manual x", "countersign manual: unusable argument x"), ("manual --x", "there is no option --x"),
    ("health gateway --version", "countersign health: there is no option --version"),
    ("--version x", "countersign: --version takes no argument x"), ("help gateway x", "no argument x"),
    ("import /nope --publisher 1 --from", "--from needs a value: PRESET"),
  ])
  func `arguments that a command cannot use are named, with what was meant`(
    words: String, expected: String
  ) async throws {
    let (status, text) = try await bash("cd /tmp && \(Repository.products)/countersign \(words) 2>&1 < /dev/null")
    #expect(status == 2 && text.contains(expected), "\(text)")
    // A short message: the whole help would hide it.
    #expect(text.split(separator: "\n").count <= 2, "\(text)")
  }

  @Test(arguments: ["--help", "--version", "nonsense", "check-config --config /nowhere", "verify /nowhere"])
  func `a terminal gets no colours`(words: String) async throws {
    // script gives the command a terminal for its output.
    let (_, text) = try await bash(
      "script --quiet --return --command '\(Repository.products)/countersign \(words)' /dev/null </dev/null")
    #expect(!text.isEmpty && !text.contains("\u{1B}"), "\(text)")
  }

  @Test(arguments: [
    ("check-config --describe --config /nowhere", "--describe does not go together with the other arguments"),
    ("check-config --descrbe", "--descrbe; did you mean --describe?"),
  ])
  func `an option that the command has is never its own correction`(words: String, expected: String) async throws {
    let (status, text) = try await bash("\(Repository.products)/countersign \(words) 2>&1")
    #expect(status == 2 && text.contains(expected + "\n"), "\(text)")
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
    ("shadow compare --rep", ["--report"]), ("jobs list /etc/passw", []),
    ("nonsense --", []), ("help expo", ["export"]), ("dead list --k", ["--kind"]),
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
    #expect(status == 0 && !text.contains("warning: "), "\(text)")
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
    (["dead", "list", "--nonsense"], "there is no option --nonsense"), (["jobs", "bury"], "list, show or retry"),
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
