import FoundationEssentials

/// Reads docs/reference/openapi.yaml by its indentation. If the file is not indented as expected, the test fails.
package struct OpenAPIFile {
  package let lines: [Substring]

  package init() throws {
    let data = try Data(contentsOf: URL(filePath: Repository.root + "/docs/reference/openapi.yaml"))
    lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: true)
  }

  /// The keys one level below a path of keys.
  package func keys(_ path: String...) -> [String] { keys(path) }

  /// The keys one level below a path of keys.
  package func keys(_ path: [String]) -> [String] {
    var found: [String] = []
    var depth = 0
    for line in lines {
      let indentation = line.prefix { $0 == " " }.count
      // This line is behind the wanted part.
      if depth == path.count, indentation < depth * 2 { break }
      guard indentation == depth * 2, let key = key(line.dropFirst(indentation)) else { continue }
      if depth == path.count { found.append(key) } else if key == path[depth] { depth += 1 }
    }
    return found
  }

  /// The text behind a key on its line; `nil` when the key is missing.
  package func value(_ path: String...) -> String? { value(path) }

  /// The text behind a key on its line; `nil` when the key is missing.
  package func value(_ path: [String]) -> String? {
    var depth = 0
    for line in lines {
      let indentation = line.prefix { $0 == " " }.count
      if indentation < depth * 2 { return nil }
      guard indentation == depth * 2, key(line.dropFirst(indentation)) == path[depth] else { continue }
      depth += 1
      if depth == path.count { return String(line.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }
    }
    return nil
  }

  private func key(_ line: Substring) -> String? {
    guard line.first != "#", line.first != "-", let colon = line.firstIndex(of: ":") else { return nil }
    return line[..<colon].filter { $0 != "\"" }
  }
}
