import FoundationEssentials

/// docs/reference/reporting.md, as tests read it.
public struct ReportingPage {
  private let text: String

  /// Reads the page.
  public init() throws {
    let file = URL(filePath: Repository.root + "/docs/reference/reporting.md")
    text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
  }

  /// The columns of all views in their order, such as `periods.price numeric`.
  public var columns: [String] {
    var (view, columns) = ("", [String]())
    for line in text.split(separator: "\n") {
      if line.hasPrefix("## ") { view = line.firstMatch(of: /^## `reporting\.(\w+)`$/).map { String($0.1) } ?? "" }
      guard !view.isEmpty, let row = line.firstMatch(of: /^\| `(\w+)` \| `(\w+)` \| .+ \|$/) else { continue }
      columns.append("\(view).\(row.1) \(row.2)")
    }
    return columns
  }

  /// The SQL of all examples.
  public var examples: [String] {
    text.split(separator: "```sql\n").dropFirst().compactMap { $0.split(separator: "```").first.map(String.init) }
  }

  /// The query behind a question, such as `Churn`. It ends without a semicolon.
  public func query(_ question: String) -> String? {
    guard let part = text.split(separator: "**\(question).**").dropFirst().first,
      let query = part.split(separator: "```sql\n").dropFirst().first?.split(separator: "```").first
    else { return nil }
    return query.split(separator: ";").first.map(String.init)
  }
}
