public import Domain
import Formats
import JSON

/// The lines of `countersign export` (docs/reference/export.md). Of each kind and key, the last line counts.
extension ImportFile {
  /// The version of the format that this code reads.
  static let exportFormat: Int64 = 1

  /// What an export has besides the purchases of its customers.
  public struct Exported: Sendable, Equatable {
    /// How many lines there are of customers whom the publisher has put.
    public internal(set) var customers = 0
    /// The grants that were open.
    public internal(set) var grants: [GrantId: ExportedGrant] = [:]
    /// About how much memory they need.
    var grantBytes = 0
    /// Purchases without an owner.
    public internal(set) var unowned = 0
    var hasBegun = false
    var hasEnded = false
  }

  /// A grant of an export.
  public struct ExportedGrant: Sendable, Equatable {
    /// The line of the file.
    public let line: Int
    private let grant: Grant

    init(_ line: Int, _ grant: Grant) { (self.line, self.grant) = (line, grant) }

    /// About how much memory it needs: its own size, a place in the dictionary, and its texts.
    var byteCount: Int {
      2 * (MemoryLayout<Self>.stride + MemoryLayout<GrantId>.stride) + grant.id.text.utf8.count
        + grant.customer.id.text.utf8.count + grant.offerId.text.utf8.count + (grant.note?.utf8.count ?? 0)
    }

    var customer: CustomerId { grant.customer.id }

    /// The grant as one of a publisher's.
    public func grant(of publisher: Int64) -> Grant {
      var grant = grant
      grant.customer = CustomerKey(publisherId: publisher, id: grant.customer.id)
      return grant
    }
  }

  /// Reads a line of an export as a customer whom the publisher has put; `nil` if it is something else.
  public static func exportedCustomer(_ line: [UInt8]) -> Customer? {
    guard line.starts(with: customerBegin) else { return nil }
    return try? customer(JSONObject(JSONText(line, limits: .own)))
  }

  /// `kind` is the first member of each line.
  private static let customerBegin = Array(#"{"kind":"customer""#.utf8)

  private static func customer(_ members: borrowing JSONObject) throws -> Customer? {
    guard try members.bool("isRegistered") == true else { return nil }
    let (id, email) = (CustomerId(try members.requiredString("customerId")), try members.string("email"))
    // An export has nothing else. But somebody may have written the file, and the ledger must never refuse a line.
    guard id.isValid, email.map({ isText($0, atMost: 254) }) ?? true else { throw Unusable() }
    return Customer(
      id: id, email: email,
      appAccountToken: try members.string("appAccountToken").flatMap(AppAccountToken.canonical))
  }

  // MARK: Lines

  /// Reads a line.
  ///
  /// - Throws: why the whole file cannot be used.
  mutating func takeExported(_ line: [UInt8], _ number: Int) throws(ImportProblem) {
    do {
      let members = try JSONObject(JSONText(line, limits: .own))
      let kind = try members.requiredString("kind")
      guard exported.hasBegun || kind == "export" else { throw Self.foreign }
      switch kind {
      case "export":
        guard try members.requiredInt64("format") == Self.exportFormat else { throw Self.newer }
        exported.hasBegun = true
      case "customer": if try Self.customer(members) != nil { exported.customers += 1 }
      case "purchase": keepExported(try Self.purchase(members, number))
      case "grant": keepExported(try Self.grant(members, number))
      case "end": exported.hasEnded = true
      default: break
      }
    } catch let problem as ImportProblem {
      throw problem
    } catch {
      guard exported.hasBegun else { throw Self.foreign }
      note(
        ImportProblem(line: number, "is no line of an export", "export the publisher again, into another file"))
    }
  }

  /// Notes what is wrong with an export as a whole, and lets go of purchases without an owner.
  mutating func endExported(_ lines: Int) {
    if !exported.hasEnded {
      note(
        ImportProblem(
          line: lines, "the export is not whole: it has no line end", "go on with countersign export --resume"))
    }
    removeCrowds()
    let unowned = rows.indices.filter { rows[$0].customerId == Self.noOwner }
    exported.unowned = unowned.count
    rows.remove(Set(unowned))
  }

  private static let foreign = ImportProblem(
    line: 1, "the file is no export of Countersign", "give the file that countersign export has written")
  private static let newer = ImportProblem(
    line: 1, "the export has another format than \(exportFormat)", "use the version of countersign that wrote it")

  // MARK: Purchases and grants

  /// Stands for the owner of a purchase that nobody owns, until the whole file is read: no customer has this id.
  private static let noOwner: CustomerId = ""

  private static func purchase(_ members: borrowing JSONObject, _ line: Int) throws -> ImportRow {
    let original = try members.requiredString("originalTransactionId")
    guard TransactionId.isValid(original) else { throw Unusable() }
    let owner = try members.string("customerId").map(CustomerId.init(_:))
    guard owner?.isValid != false else { throw Unusable() }
    return ImportRow(line: line, customerId: owner ?? noOwner, transactionId: TransactionId(original))
  }

  private static func grant(_ members: borrowing JSONObject, _ line: Int) throws -> (GrantId, ExportedGrant?) {
    func time(_ text: String?) throws -> Int64? {
      guard let text else { return nil }
      guard let time = milliseconds(rfc3339: text) else { throw Unusable() }
      return time
    }
    guard let id = GrantId(canonical: try members.requiredString("grantId")),
      let reason = Grant.Reason(rawValue: try members.requiredString("reason")),
      let created = try time(members.requiredString("createdAt")),
      let end = try time(members.requiredString("expiresAt"))
    else { throw Unusable() }
    let customer = CustomerId(try members.requiredString("customerId"))
    let (offer, note) = (try members.requiredString("offerId"), try members.string("note"))
    guard customer.isValid, isText(offer, atMost: longestText),
      note.map({ isText($0, atMost: Grant.longestNote) }) ?? true
    else { throw Unusable() }
    if try members.string("withdrawnAt") ?? members.string("endedAt") != nil { return (id, nil) }
    let grant = Grant(
      id: id, customer: CustomerKey(publisherId: 0, id: customer),
      offerId: OfferId(offer), reason: reason, note: note, createdAt: created, endsAt: end)
    return (id, ExportedGrant(line, grant))
  }

  /// A value that no export has.
  private struct Unusable: Error {}

  /// Whether a text has some characters, and not too many. PostgreSQL keeps no NUL.
  private static func isText(_ text: String, atMost most: Int) -> Bool {
    (1...most).contains(text.unicodeScalars.count) && !text.utf8.contains(0)
  }

  /// Leaves out the grants of customers who have too many, and notes them.
  private mutating func removeCrowds() {
    var counts: [CustomerId: (grants: Int, last: Int)] = [:]
    for grant in exported.grants.values {
      let (count, last) = counts[grant.customer] ?? (0, 0)
      counts[grant.customer] = (count + 1, max(last, grant.line))
    }
    let crowds = counts.filter { $0.value.grants > Grant.mostOpenOfCustomer }
    guard !crowds.isEmpty else { return }
    exported.grants = exported.grants.filter { crowds[$0.value.customer] == nil }
    for (grants, last) in crowds.values.sorted(by: { $0.last < $1.last }) {
      note(
        ImportProblem(
          line: last, "is the last of \(grants) open grants of one customer",
          "withdraw grants until there are \(Grant.mostOpenOfCustomer), and export the publisher again"))
    }
  }

  private mutating func keepExported(_ grant: (id: GrantId, open: ExportedGrant?)) {
    exported.grantBytes -= exported.grants[grant.id]?.byteCount ?? 0
    exported.grants[grant.id] = grant.open
    exported.grantBytes += grant.open?.byteCount ?? 0
  }

  private mutating func keepExported(_ row: ImportRow) {
    if let position = position(of: row.transactionId) { rows.replace(position, with: row) } else { add(row) }
  }
}
