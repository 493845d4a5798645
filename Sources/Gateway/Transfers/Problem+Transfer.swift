import Domain

extension Problem {
  /// A transfer while the publisher's purchases are being moved here.
  static let migrating = Problem(
    422, "SK2C0005", "The migration is in progress",
    detail: "The publisher's file says that its purchases are being moved here. Transfers are possible afterwards.")

  /// A synchronization that must wait for another one of the same transaction.
  ///
  /// - Parameters:
  ///   - kind: what the request asks for.
  ///   - holder: what the other one does.
  ///   - instance: the status of the other one, if the caller may see it.
  static func locked(_ kind: Job.Kind, by holder: Job.Kind, instance: String?) -> Problem {
    let code =
      switch (kind, holder) {
      case (.registration, _): "SK2C0101"
      case (.transfer, .registration): "SK2C0103"
      case (.transfer, .transfer): "SK2C0104"
      }
    let locked = Problem.locked(instance: instance)
    return Problem(
      locked.status, code, locked.message, instance: locked.instance, retryAfter: locked.retryAfter)
  }
}
