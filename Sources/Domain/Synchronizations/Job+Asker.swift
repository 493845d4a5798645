extension Job {
  /// Whose credential asked for a job.
  public enum Asker: String, Sendable {
    case publisher
    case customer
    /// The key of an app, which every copy of the app has.
    case app
  }

  /// Whose credential asked for this job. Apps send their own key to two doors. A backend may send a secret one to
  /// iaptic's, and counts as the app.
  public var asker: Asker {
    if isByCustomer { return .customer }
    switch door {
    case .iaptic?, .mbaasy?: return .app
    case .cleeng?, .playfab?, nil: return .publisher
    }
  }
}
