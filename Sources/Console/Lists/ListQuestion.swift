import Domain
import HTTPServer
import Ledger

/// What somebody asks a list for: `?publisher=1001&after=PLACE`, and the list's own filters.
struct ListQuestion: Sendable, Equatable {
  /// The publishers that the person may choose from, in their order.
  let choices: [PublisherId]
  /// The chosen one; `nil` for all of ``choices``.
  let publisher: PublisherId?
  /// Where the page before it ended; `nil` for the first page.
  let after: ConsolePlace?
  /// The values of the list's own filters. An empty value is none.
  let filters: [String: String]
  /// The most publishers of one page.
  let mostPublishers: Int

  /// Why a question has no answer.
  enum Mistake: Error {
    /// The address has a value that the list cannot use.
    case unreadable
    /// There is no such publisher, or the person may not see it.
    case nothing
  }

  init(
    choices: [PublisherId], publisher: PublisherId? = nil, after: ConsolePlace? = nil, filters: [String: String] = [:],
    mostPublishers: Int = 200
  ) {
    (self.choices, self.publisher, self.after, self.filters) = (choices, publisher, after, filters)
    self.mostPublishers = mostPublishers
  }

  /// Reads the question of a request.
  ///
  /// - Parameter publishers: all that there are.
  init(_ request: HTTPServerRequest, _ list: ConsoleList, _ person: ConsolePerson, _ publishers: [PublisherId])
    throws(Mistake)
  {
    var values: [String: String] = [:]
    for name in ["publisher", "after"] + list.filters {
      guard let value = request.query(name), !value.isEmpty else { continue }
      guard value.utf8.count <= 1024, !value.utf8.contains(0) else { throw .unreadable }
      values[name] = value
    }
    let choices = (publishers + (list.hasRowsOfNobody ? [0] : [])).filter(person.sees).sorted()
    let (publisher, after) = (values["publisher"].map { PublisherId($0) }, values["after"].map { ConsolePlace($0) })
    if case .some(nil) = publisher { throw .unreadable }
    if case .some(nil) = after { throw .unreadable }
    if let chosen = publisher ?? nil, !choices.contains(chosen) { throw .nothing }
    self.init(
      choices: choices, publisher: publisher ?? nil, after: after ?? nil,
      filters: values.filter { list.filters.contains($0.key) }, mostPublishers: list.mostPublishers)
  }

  /// Whether the person must choose a publisher first.
  var needsChoice: Bool { publisher == nil && choices.count > mostPublishers }

  /// The publishers whose rows the list shows.
  var publishers: [PublisherId] { publisher.map { [$0] } ?? (needsChoice ? [] : choices) }

  /// The same question about another page, as parameters of an address.
  func query(after place: ConsolePlace?) -> [(name: String, value: String)] {
    let chosen = publisher.map { [(name: "publisher", value: "\($0)")] } ?? []
    let others = filters.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    return chosen + others + (place.map { [(name: "after", value: $0.text)] } ?? [])
  }
}
