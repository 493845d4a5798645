public import Domain

/// The presets that a build has: its own, and those of its doors.
public struct ImportPresets: Sendable {
  /// Whose export a file may be, in the order in which texts list them.
  public let exports: [ExportColumns]
  /// Whose recorded webhook bodies a comparison reads, in this order.
  public let bodies: [any RecordedBodyReader]

  /// Lists the presets.
  public init(_ doors: DoorCatalog) {
    // The texts have always named the presets in this order: that of the registry, backwards.
    let doors = doors.all.reversed()
    let (columns, readers) = (doors.compactMap { $0.export }, doors.compactMap { $0.recordedBodies })
    exports = [ExportColumns.plain, .revenuecat] + columns + [.countersign]
    bodies = [RevenueCatBodies() as any RecordedBodyReader] + readers
  }

  /// The presets of other systems, whose rows claim until when there is access.
  public var others: [ExportColumns] { exports.filter { $0.name != .countersign } }

  /// The names of the exports.
  public var names: [String] { exports.map(\.name.rawValue) }

  /// The columns of a preset; `nil` if this build does not know it.
  public func export(named name: ImportPresetName) -> ExportColumns? { exports.first { $0.name == name } }
}
