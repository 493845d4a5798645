import JSON

/// The rows of a file that are not imported, in little memory: twelve bytes for a row, and each cause once.
///
/// They are no rows of ``ImportFile/rows``, and the report has a line for each all the same.
public struct ImportLeftOut: Sendable {
  /// Why a row is not imported.
  enum Why: Equatable {
    /// It names the customer and the purchase of an earlier row, which begins on a line.
    case repeated(of: Int)
    case otherStore
    /// It is a purchase of an export, and nobody owns it.
    case unowned
    /// It gives the transaction of an earlier row, which begins on a line, to another customer.
    case otherCustomer(than: Int)
    /// It cannot work for another cause.
    case problem(String)
  }

  private enum Kind: UInt8 { case repeated, otherStore, unowned, otherCustomer, problem }

  private struct Entry {
    var line: Int32
    /// The line of another row, or the place of the cause.
    var detail: Int32
    var kind: Kind
  }

  /// The most causes that are kept. They are few: only the name of a column, or a number of fields, differs. A row with
  /// a further one says that it cannot work.
  static let mostCauses = 1000
  /// A cause may have a name of the file, and each row has its cause.
  private static let longestCause = 300
  private static let unknownCause = "cannot work; a dry run shows the cause"

  private var entries: [Entry] = []
  private var causes: [String] = []
  private var places: [String: Int32] = [:]
  /// About how much memory the causes need.
  private var causeBytes = 0

  /// Creates a list without rows.
  public init() {}

  /// How many there are.
  public var count: Int { entries.count }
  /// How much memory they need.
  var byteCount: Int { entries.count * MemoryLayout<Entry>.stride + causeBytes }

  /// The line of the file on which a row begins.
  public func line(at position: Int) -> Int { Int(entries[position].line) }

  func why(at position: Int) -> Why {
    let entry = entries[position]
    return switch entry.kind {
    case .repeated: .repeated(of: Int(entry.detail))
    case .otherStore: .otherStore
    case .unowned: .unowned
    case .otherCustomer: .otherCustomer(than: Int(entry.detail))
    // A place behind the end stands for the causes that are not kept.
    case .problem: .problem(entry.detail < causes.count ? causes[Int(entry.detail)] : Self.unknownCause)
    }
  }

  mutating func append(_ line: Int, _ why: Why) {
    let (kind, detail): (Kind, Int32) =
      switch why {
      case .repeated(let first): (.repeated, Int32(clamping: first))
      case .otherStore: (.otherStore, 0)
      case .unowned: (.unowned, 0)
      case .otherCustomer(let first): (.otherCustomer, Int32(clamping: first))
      case .problem(let cause): (.problem, place(of: cause))
      }
    entries.append(Entry(line: Int32(clamping: line), detail: detail, kind: kind))
  }

  private mutating func place(of cause: String) -> Int32 {
    if let place = places[cause] { return place }
    guard causes.count < Self.mostCauses else { return .max }
    let place = Int32(causes.count)
    causes.append(cause)
    places[cause] = place
    causeBytes += 2 * (MemoryLayout<String>.stride + cause.utf8.count)
    return place
  }

  /// Puts the rows into the order of their lines: some were left out when the whole file was known.
  mutating func sort() {
    let sorted = entries.enumerated().sorted { ($0.element.line, $0.offset) < ($1.element.line, $1.offset) }
    entries = sorted.map(\.element)
  }

  /// The row's line of a report, with its line end.
  public func text(at position: Int) -> [UInt8] {
    var (first, cause): (Int?, String?) = (nil, nil)
    let word: String
    switch why(at: position) {
    case .repeated(let line): (word, first) = ("repeated", line)
    case .otherStore: word = "otherStore"
    case .unowned: word = "unowned"
    case .otherCustomer(let line):
      (word, cause) = ("skipped", "gives the transaction of line \(line) to another customer")
    case .problem(let text): (word, cause) = ("skipped", JSONWriter.beginning(of: text, upTo: Self.longestCause))
    }
    return JSONWriter.object { json in
      json.member("line", Int64(line(at: position)))
      json.member("result", word)
      json.member("firstLine", first.map { Int64($0) })
      json.member("cause", cause)
    } + [0x0a]
  }
}
