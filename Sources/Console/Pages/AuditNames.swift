import Ledger

/// Whose names of the audit log somebody reads.
///
/// A viewer reads none of people. Support reads those of colleagues: who may see the publisher at the console. Other
/// names are those of people who run the fleet, and only operators read them.
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
    case .support: return people[name]?.sees(publisher) ?? false ? name : nil
    case .viewer: return nil
    }
  }
}
