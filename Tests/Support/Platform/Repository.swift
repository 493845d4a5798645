import FoundationEssentials

/// The folder of the checkout.
public enum Repository {
  /// The folder of Package.swift.
  public static let root: String = {
    // Tests/Support/Platform/Repository.swift
    #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
  }()

  /// The folder of the built executables: the tests themselves run from it.
  public static let products: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let folder = own.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    return FileManager.default.fileExists(atPath: folder + "/countersign") ? folder : root + "/.build/debug"
  }()
}
