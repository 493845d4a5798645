import Doors
import Import

extension ImportPresets {
  /// Those of this build.
  static let ofBuild = ImportPresets(DoorRegistry.catalog)
}
