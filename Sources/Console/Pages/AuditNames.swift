import Domain
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
    name(entry.name, of: entry.actor, at: entry.publisherId)
  }

  /// Who made a change, for a timeline: the actor, with the name if the reader may know it.
  ///
  /// - Parameter column: as the audit log has it.
  func who(_ column: String, at publisher: PublisherId) -> String {
    let (actor, name) = ConsoleAudit.who(column)
    return self.name(name, of: actor, at: publisher).map { "\(actor) \($0)" } ?? actor
  }

  /// Where a person was who did something at the console. Whose name is hidden, of this one the address is hidden too.
  /// Without a name, it is the address of somebody whom nobody knows, and operators read it.
  func address(in entry: ConsoleAudit.Entry) -> String? {
    guard reader.role.seesPersonalData else { return nil }
    return reader.role == .operator || name(in: entry) != nil ? entry.address : nil
  }

  private func name(_ name: String?, of actor: String, at publisher: PublisherId) -> String? {
    guard let name, actor == "operator" else { return name }
    return self.name(ofPerson: name, at: publisher)
  }

  /// The name of a person who did something at a publisher; `nil` if it is hidden.
  func name(ofPerson name: String, at publisher: PublisherId) -> String? {
    switch reader.role {
    case .operator: return name
    case .support:
      let isColleague = people[name]?.sees(publisher) ?? false
      return isColleague || name.isExactly(reader.name) ? name : nil
    case .viewer: return nil
    }
  }
}
