extension Job {
  /// Whose credential asked for a job.
  public enum Asker: String, Sendable {
    case publisher
    case customer
    /// The key of an app, which every copy of the app has.
    case app
  }

  /// Whose credential asked for this job.
  public var asker: Asker { isByCustomer ? .customer : door?.asker ?? .publisher }
}
