import Domain

/// Decides when changed rules of a publisher count.
///
/// When a publisher's file changes, the workers of a fleet read it at different moments. Until all have, some of them
/// differ from the ledger although there is nothing to do. So a difference counts when a worker sees it twice in a row:
/// by then it would have read the new file itself.
struct RulesWatch {
  private struct Difference: Equatable {
    let own: [UInt8]
    let kept: [UInt8]
  }
  private var last: [PublisherId: Difference] = [:]
  /// The rules that this worker had at its last look.
  private var before: [PublisherId: [UInt8]] = [:]

  /// What a worker does about a publisher.
  enum Step: Equatable {
    case nothing
    /// The evaluation begins with the first customer.
    case begin
    /// It goes on behind the last evaluated customer.
    case proceed
  }

  /// Decides after a look.
  ///
  /// - Parameters:
  ///   - own: the hash of the rules that this worker has read.
  ///   - kept: the hash in the ledger; `nil` for a publisher that is new to it.
  ///   - isOpen: whether an evaluation with the kept rules is not finished.
  mutating func look(_ publisher: PublisherId, own: [UInt8], kept: [UInt8]?, isOpen: Bool) -> Step {
    let hasChanged = before.updateValue(own, forKey: publisher).map { $0 != own } ?? false
    guard let kept else { return .begin }
    guard own != kept else {
      last[publisher] = nil
      // Another worker was first. Until now this one may have told entitlements by the old rules.
      if hasChanged { return .begin }
      return isOpen ? .proceed : .nothing
    }
    let difference = Difference(own: own, kept: kept)
    defer { last[publisher] = difference }
    return last[publisher] == difference ? .begin : .nothing
  }
}
