import Formats
import Ledger

/// Whose names of the audit log somebody reads.
///
/// A viewer reads none of people. Support reads its own, and those of colleagues: who may see the publisher, by the
/// file of users. Other names are those of people who run the fleet, or who signed in with the provider, and only
/// operators read them.
struct AuditNames {
  let reader: ConsolePerson
  let people: ConsolePeople

  /// The name of a token or of a person; `nil` if there is none, or if it is hidden.
  func name(in entry: ConsoleAudit.Entry) -> String? {
    guard let name = entry.name, entry.actor == "operator" else { return entry.name }
    return self.name(ofPerson: name, at: entry.publisherId)
  }

  /// The name of a person who did something at a publisher; `nil` if it is hidden.
  func name(ofPerson name: String, at publisher: Int64) -> String? {
    switch reader.role {
    case .operator: return name
    case .support:
      let isColleague = people[name]?.sees(publisher) ?? false
      return isColleague || name.exact == reader.name.exact ? name : nil
    case .viewer: return nil
    }
  }
}
