import FoundationEssentials
import TestSupport
import Testing

/// Compares docs/internals/foreign-bytes.md with the sources.
struct ForeignBytesTests {
  private static let folder = Repository.root + "/Sources"

  /// The sources of the product, by their paths in `Sources`.
  private static let sources = files(endingIn: ".swift")

  private static func files(endingIn ending: String) -> [(path: String, text: String)] {
    let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
    return paths.filter { $0.hasSuffix(ending) }.compactMap { path in
      (try? Data(contentsOf: URL(filePath: "\(folder)/\(path)"))).map { (path, String(decoding: $0, as: UTF8.self)) }
    }
  }

  private func page() throws -> String {
    String(
      decoding: try Data(contentsOf: URL(filePath: Repository.root + "/docs/internals/foreign-bytes.md")),
      as: UTF8.self)
  }

  @Test func `nothing is forced without a value`() throws {
    #expect(Self.sources.count > 500)
    for (path, text) in Self.sources {
      for line in text.split(separator: "\n") where !line.contains("//") {
        #expect(!line.contains("try!") && !line.contains(" as! "), "\(path): \(line)")
      }
    }
  }

  /// A page about files that are gone tells nothing.
  @Test func `each place of the tables is there`() throws {
    let first = try page().split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap { row in
      row.dropFirst().split(separator: "|").first
    }
    let places = first.flatMap { $0.matches(of: /`([A-Z][A-Za-z0-9]+(?:\/[A-Za-z0-9+]+)*)`/).map(\.1) }
    #expect(places.count > 40)
    for place in places {
      let name = place.split(separator: "/").last ?? ""
      let isThere = Self.sources.contains { $0.path.hasSuffix("/\(name).swift") || "/\($0.path)".contains("/\(name)/") }
      #expect(isThere, "\(place)")
    }
  }

  @Test func `each metric and each shim that the page names is there`() throws {
    let names = Set(try page().matches(of: /countersign_[a-z0-9_]+/).map { String($0.0) })
    #expect(!names.isEmpty)
    let all = Self.sources + Self.files(endingIn: ".h")
    for name in names {
      let isThere = all.contains { $0.text.contains("\"\(name)\"") || $0.text.contains(" \(name)(") }
      #expect(isThere, "\(name)")
    }
  }

  /// A new one needs a look, so the page has their numbers.
  @Test func `each range in brackets and each forced unwrapping is counted`() throws {
    let range = /[\w)\]?!]\[[^\[\]]*\.\.[.<][^\[\]]*\]/
    let unwrapping = /[\w)\]]!(?=[\s.,)\]\[?]|$)/
    var found: [String: [String]] = [:]
    for (path, text) in Self.sources {
      let parts = path.split(separator: "/")
      let folder = parts.prefix(parts[0] == "Platform" ? 2 : 1).joined(separator: "/")
      for line in text.split(separator: "\n") where line.contains("..") || line.contains("!") {
        let code = line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
        found["\(folder) ranges", default: []] += code.matches(of: range).map { _ in "\(path): \(code)" }
        found["\(folder) unwrappings", default: []] += code.matches(of: unwrapping).map { _ in "\(path): \(code)" }
      }
    }
    var counted: [String: Int] = [:]
    for row in try page().matches(of: /(?m)^\| `([A-Za-z0-9\/]+)` \| (\d+) \| (\d+) \|$/) {
      counted["\(row.1) ranges"] = Int(row.2)
      counted["\(row.1) unwrappings"] = Int(row.3)
    }
    #expect(counted.count > 30)
    for kind in Set(found.keys).union(counted.keys).sorted() {
      let lines = found[kind] ?? []
      #expect(
        lines.count == counted[kind] ?? 0,
        "\(kind): docs/internals/foreign-bytes.md has another number:\n\(lines.joined(separator: "\n"))")
    }
  }
}
