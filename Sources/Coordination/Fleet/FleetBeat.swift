public import Domain
import Formats

/// What a process of the fleet tells about itself every few seconds.
public struct FleetBeat: Sendable, Equatable {
  /// Tells a process from every other one, also from one that ran before it under the same number.
  public var id: String
  public var role: String
  /// The version, with the commit if the build knows it.
  public var version: String
  /// The host's name and the process's number, such as `worker-7f:1`.
  public var place: String
  /// When the process started, in milliseconds since 1970.
  public var startedAt: Int64
  /// The lines of `/readyz` that tell of a trouble.
  public var troubles: [String]
  /// Some of the process's metrics.
  public var readings: [Reading]
  /// The apps whose key Apple refuses, as this process knows; `nil` for a process that does not learn of it.
  public var refusedApps: [RefusedApp]?
  /// Whether the process knows of more refused apps than a beat tells.
  public var hasMoreRefusedApps = false
  /// What its configuration says other than the defaults, without secrets; `nil` for a version that does not tell.
  public var settings: [Setting]?
  /// When Redis got it, in milliseconds of Redis' clock; 0 in a beat that was not sent yet.
  public var heardAt: Int64 = 0
  /// Redis' clock when it was read.
  public var readAt: Int64 = 0

  /// The value of a metric that has these labels.
  public struct Reading: Sendable, Equatable {
    public var name: String
    /// The values of the labels, in the metric's own order.
    public var labels: [String]
    public var value: Double

    public init(_ name: String, _ labels: [String] = [], _ value: Double) {
      (self.name, self.labels, self.value) = (name, labels, value)
    }
  }

  /// An app in one environment, whose key Apple refuses.
  public struct RefusedApp: Sendable, Equatable {
    public var publisherId: PublisherId
    public var bundleId: BundleId
    public var environment: Environment
    /// In milliseconds since 1970.
    public var since: Int64
    /// What Apple said last.
    public var cause: String

    public init(
      _ bundleId: BundleId, of publisherId: PublisherId, in environment: Environment, since: Int64, cause: String
    ) {
      (self.publisherId, self.bundleId, self.environment) = (publisherId, bundleId, environment)
      (self.since, self.cause) = (since, cause)
    }
  }

  /// A key of the configuration with a value other than its default.
  public struct Setting: Sendable, Equatable {
    public var key: String
    public var value: String
    /// The default of the process's version.
    public var fallback: String

    public init(_ key: String, _ value: String, fallback: String) {
      (self.key, self.value, self.fallback) = (key, value, fallback)
    }
  }

  public init(
    id: String, role: String, version: String, place: String, startedAt: Int64, troubles: [String] = [],
    readings: [Reading] = [], refusedApps: [RefusedApp]? = nil, settings: [Setting]? = nil
  ) {
    (self.id, self.role, self.version, self.place, self.startedAt) = (id, role, version, place, startedAt)
    (self.troubles, self.readings) = (troubles, readings)
    (self.refusedApps, self.settings) = (refusedApps, settings)
  }

  /// How long nobody has heard of the process, in milliseconds; never negative.
  public var silence: Int64 { max(0, readAt.subtracting(heardAt)) }

  /// The first value of a metric that has these labels; `nil` if the process does not tell it.
  public func value(_ name: String, _ labels: String...) -> Double? {
    readings.first { $0.name == name && $0.labels == labels }?.value
  }

  /// All values of a metric.
  public func values(_ name: String) -> [Reading] { readings.filter { $0.name == name } }
}
