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
    /// Open grants that are left out, because their customers have too many.
    public internal(set) var grantsOverLimit = 0
    /// The customers with sandbox access by hand, unless it has ended.
    public internal(set) var sandboxAccess: [CustomerId: ExportedSandboxAccess] = [:]
    /// About how much memory grants and sandbox access need.
    var byteCount = 0
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

    var id: GrantId { grant.id }
    var customer: CustomerId { grant.customer.id }
    var offerId: OfferId { grant.offerId }

    /// The grant as one of a publisher's.
    public func grant(of publisher: PublisherId) -> Grant {
      var grant = grant
      grant.customer = CustomerKey(publisherId: publisher, id: grant.customer.id)
      return grant
    }
  }

  /// Sandbox access by hand of an export.
  public struct ExportedSandboxAccess: Sendable, Equatable {
    /// The line of the file.
    public let line: Int
    private let override: SandboxOverride

    init(_ line: Int, _ override: SandboxOverride) { (self.line, self.override) = (line, override) }

    /// About how much memory it needs, as for a grant.
    var byteCount: Int {
      2 * (MemoryLayout<Self>.stride + MemoryLayout<CustomerId>.stride) + override.customer.id.text.utf8.count
        + (override.note?.utf8.count ?? 0)
    }

    /// The override as one of a publisher's.
    public func override(of publisher: PublisherId) -> SandboxOverride {
      var override = override
      override.customer = CustomerKey(publisherId: publisher, id: override.customer.id)
      return override
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
      case "sandboxAccess": keepExported(try Self.sandboxAccess(members, number))
      case "end": exported.hasEnded = true
      default: break
      }
    } catch let problem as ImportProblem {
      throw problem
    } catch {
      guard exported.hasBegun else { throw Self.foreign }
      note(
        ImportProblem(line: number, "is not a line of an export", "export the publisher again, into another file"))
    }
  }

  /// Notes what is wrong with an export as a whole, and lets go of purchases without an owner.
  mutating func endExported(_ lines: Int) {
    if !exported.hasEnded {
      note(
        ImportProblem(
          line: lines, "the export is not whole: it has no line end", "go on with countersign export --resume"))
    }
    removeUnknownOffers()
    removeCrowds()
    let unowned = rows.indices.filter { rows[$0].customerId == Self.noOwner }
    for position in unowned { leftOut.append(rows[position].line, .unowned) }
    exported.unowned = unowned.count
    rows.remove(Set(unowned))
    leftOut.sort()
  }

  private static let foreign = ImportProblem(
    line: 1, "the file is not an export of Countersign", "give the file that countersign export has written")
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

  private static func grant(_ members: borrowing JSONObject, _ line: Int) throws -> Lasting<GrantId, ExportedGrant> {
    guard let id = GrantId(canonical: try members.requiredString("grantId")),
      let reason = Grant.Reason(rawValue: try members.requiredString("reason")),
      let created = milliseconds(rfc3339: try members.requiredString("createdAt")),
      let end = milliseconds(rfc3339: try members.requiredString("expiresAt"))
    else { throw Unusable() }
    let customer = CustomerId(try members.requiredString("customerId"))
    let (offer, note) = (try members.requiredString("offerId"), try members.string("note"))
    guard customer.isValid, isText(offer, atMost: longestText),
      note.map({ isText($0, atMost: Grant.longestNote) }) ?? true
    else { throw Unusable() }
    if try members.string("withdrawnAt") ?? members.string("endedAt") != nil { return Lasting(id, nil) }
    let grant = Grant(
      id: id, customer: CustomerKey(publisherId: 0, id: customer),
      offerId: OfferId(offer), reason: reason, note: note, createdAt: created, endsAt: end)
    return Lasting(id, ExportedGrant(line, grant))
  }

  private static func sandboxAccess(
    _ members: borrowing JSONObject, _ line: Int
  ) throws -> Lasting<CustomerId, ExportedSandboxAccess> {
    let (customer, note) = (CustomerId(try members.requiredString("customerId")), try members.string("note"))
    guard customer.isValid, note.map({ isText($0, atMost: SandboxOverride.longestNote) }) ?? true,
      let reason = SandboxOverride.Reason(rawValue: try members.requiredString("reason")),
      let set = milliseconds(rfc3339: try members.requiredString("setAt")),
      let end = milliseconds(rfc3339: try members.requiredString("until"))
    else { throw Unusable() }
    if try members.string("endedAt") != nil { return Lasting(customer, nil) }
    let override = SandboxOverride(
      customer: CustomerKey(publisherId: 0, id: customer), endsAt: end, reason: reason, note: note, setAt: set)
    return Lasting(customer, ExportedSandboxAccess(line, override))
  }

  /// Something with an id of which an export may have several lines. The last one counts.
  private struct Lasting<Id: Identifier, Open> {
    let id: Id
    /// `nil` if it has ended.
    let open: Open?

    init(_ id: Id, _ open: Open?) { (self.id, self.open) = (id, open) }
  }

  /// A value that no export has.
  private struct Unusable: Error {}

  /// Whether a text has some characters, and not too many. PostgreSQL keeps no NUL.
  private static func isText(_ text: String, atMost most: Int) -> Bool {
    (1...most).contains(text.unicodeScalars.count) && !text.utf8.contains(0)
  }

  /// Leaves out grants of offers that the publisher does not have, and notes them.
  private mutating func removeUnknownOffers() {
    guard let offers else { return }
    for grant in grantsByLine where !offers.contains(grant.offerId) {
      exported.grants[grant.id] = nil
      note(
        ImportProblem(
          line: grant.line, "is a grant of offer \(grant.offerId), which the publisher's file does not have",
          "add the offer to the publisher's file, or leave the grant out"))
    }
  }

  /// Leaves out what customers have beyond the most grants. That is no problem: nobody can mend it in the file.
  private mutating func removeCrowds() {
    guard exported.grants.count > Grant.mostOpenOfCustomer else { return }
    var counts: [CustomerId: Int] = [:]
    for grant in grantsByLine {
      let count = counts[grant.customer, default: 0] + 1
      counts[grant.customer] = count
      guard count > Grant.mostOpenOfCustomer else { continue }
      exported.grants[grant.id] = nil
      exported.grantsOverLimit += 1
      leftOut.append(
        grant.line, .problem("is a grant of a customer who has \(Grant.mostOpenOfCustomer) open grants before it"))
    }
  }

  private var grantsByLine: [ExportedGrant] { exported.grants.values.sorted { $0.line < $1.line } }

  private mutating func keepExported(_ grant: Lasting<GrantId, ExportedGrant>) {
    exported.byteCount -= exported.grants[grant.id]?.byteCount ?? 0
    exported.grants[grant.id] = grant.open
    exported.byteCount += grant.open?.byteCount ?? 0
  }

  private mutating func keepExported(_ access: Lasting<CustomerId, ExportedSandboxAccess>) {
    exported.byteCount -= exported.sandboxAccess[access.id]?.byteCount ?? 0
    exported.sandboxAccess[access.id] = access.open
    exported.byteCount += access.open?.byteCount ?? 0
  }

  private mutating func keepExported(_ row: ImportRow) {
    if let position = position(of: row.transactionId) { rows.replace(position, with: row) } else { add(row) }
  }
}
