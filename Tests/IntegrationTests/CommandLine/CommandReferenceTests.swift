import EventLoop
import Fleets
import FoundationEssentials
import TestSupport
import Testing

/// Compares docs/reference/command-line.md with the help of the commands.
@LoopActor
struct CommandReferenceTests {
  /// The first row of each command in the first table: its name and its meaning, without Markdown.
  private func rows() throws -> [(name: String, meaning: String)] {
    let page = try Data(contentsOf: URL(filePath: Repository.root + "/docs/reference/command-line.md"))
    var rows: [(name: String, meaning: String)] = []
    for line in String(decoding: page, as: UTF8.self).split(separator: "\n") {
      guard let row = line.wholeMatch(of: /\| `countersign ([a-z\-]+)[^|]*\| (.+) \|/) else { continue }
      let meaning = row.2.replacing(/\[([^\]]+)\]\([^)]+\)/) { $0.1 }.replacing("`", with: "")
      if !rows.contains(where: { $0.name == row.1 }) { rows.append((String(row.1), String(meaning))) }
    }
    return rows
  }

  private func help(_ words: [String]) async throws -> String {
    let output = FileManager.default.temporaryDirectory.appending(path: "countersign-reference-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: output) }
    let process = try ChildProcess(Repository.products + "/countersign", words, output: output.path)
    #expect(try await process.ended() == 0)
    return String(decoding: try Data(contentsOf: output), as: UTF8.self)
  }

  @Test func `the table and the help list the same commands`() async throws {
    let listed = try await help(["--help"]).split(separator: "\n").compactMap { line in
      line.prefixMatch(of: #/  ([a-z\-]+) /#).map { String($0.1) }
    }
    #expect(listed.count > 20)
    #expect(Set(listed) == Set(try rows().map(\.name)), "\(listed)")
  }

  @Test func `each command says what it does in the words of the table`() async throws {
    for row in try rows() where !row.name.hasPrefix("--help") {
      let help = try await help(row.name == "--version" ? ["--help"] : [row.name, "--help"])
      let plain = help.split(whereSeparator: { $0 == " " || $0 == "\n" }).joined(separator: " ")
      let sentence =
        row.name == "--version" ? row.meaning : row.meaning.prefix(1).uppercased() + row.meaning.dropFirst() + "."
      #expect(plain.contains(" " + sentence), "\(help)")
    }
  }
}
