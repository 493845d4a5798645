public import Domain
import JSON

/// The webhook bodies of another system that somebody has recorded, one JSON object a line, as rows that claim access.
///
/// The newest body about a purchase counts. A body without a time counts as being as new as the newest one before it.
public struct RecordedWebhooks: Sendable {
  /// One for each purchase, in the order of the lines that decide.
  public private(set) var rows: [ImportRow] = []
  /// The lines that could not be read.
  public private(set) var problems: [ImportProblem] = []
  /// How many bodies say nothing about a purchase at Apple's store.
  public private(set) var ignored = 0

  /// Reads bodies.
  ///
  /// - Parameters:
  ///   - reader: reads the bodies of a vendor.
  ///   - now: when they are read, in milliseconds since 1970.
  ///   - read: reads the next line without its line feed; `nil` at the end.
  public init(_ reader: any RecordedBodyReader, now: Int64, read: @escaping () throws(ImportProblem) -> [UInt8]?) {
    var lines = ImportLines(read)
    var bodies: [(line: Int, time: Int64, body: RecordedBody)] = []
    var latest = Int64.min
    do throws(ImportProblem) {
      while let line = try lines.next() {
        if line.allSatisfy(\.isBlank) { continue }
        do {
          let body = try reader.body(JSONObject(JSONText(line, limits: .outside)), now: now)
          if case .nothing = body { ignored += 1 }
          latest = max(latest, body.time ?? latest)
          bodies.append((lines.number, body.time ?? latest, body))
        } catch let error as RecordedBody.Unusable {
          problems.append(ImportProblem(line: lines.number, error.cause, "correct it, or remove the line"))
        } catch {
          problems.append(
            ImportProblem(
              line: lines.number, "is not a webhook body of this preset", "write one body a line, as it was posted"))
        }
      }
    } catch {
      // What was read before may be wrong, too.
      (bodies, problems, ignored) = ([], [error], 0)
    }
    // Equal times keep the order of the file.
    bodies.sort { ($0.time, $0.line) < ($1.time, $1.line) }
    rows = Self.rows(bodies.map { (line: $0.line, body: $0.body) })
  }

  /// Folds bodies, the oldest first.
  private static func rows(_ bodies: [(line: Int, body: RecordedBody)]) -> [ImportRow] {
    var held: [TransactionId: ImportRow] = [:]
    var transactions: [CustomerId: Set<TransactionId>] = [:]
    func hold(_ row: ImportRow) {
      if let before = held[row.transactionId] { transactions[before.customerId]?.remove(row.transactionId) }
      held[row.transactionId] = row
      transactions[row.customerId, default: []].insert(row.transactionId)
    }
    for (line, body) in bodies {
      switch body {
      case .nothing: continue
      case .purchases(let claims, let customer, let isWhole, _):
        if isWhole {
          for gone in transactions.removeValue(forKey: customer) ?? [] where claims[gone] == nil { held[gone] = nil }
        }
        for (id, claim) in claims {
          hold(ImportRow(line: line, customerId: customer, transactionId: id, claim: claim))
        }
      case .transfer(let givers, let customer, _):
        for giver in givers where giver != customer {
          for id in transactions.removeValue(forKey: giver) ?? [] {
            guard let row = held[id] else { continue }
            hold(ImportRow(line: row.line, customerId: customer, transactionId: id, claim: row.claim))
          }
        }
      }
    }
    return held.values.sorted { ($0.line, $0.transactionId) < ($1.line, $1.transactionId) }
  }
}
